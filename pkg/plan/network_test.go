package plan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// On a bare cluster, Pods wait for the network. The network plugin and workloads that run without a
// network therefore come first. Plugins are recognized by their properties, not by name.
func TestNetworkFirst(t *testing.T) {
	for name, want := range map[string][]string{
		"calico": {
			"CRDs and namespaces: ClusterRole/calico-node CustomResourceDefinition/ippools.crd.projectcalico.org Namespace/shop",
			"configuration: ClusterRoleBinding/calico-node ConfigMap/kube-system/calico-config " +
				"ServiceAccount/kube-system/calico-node ServiceAccount/kube-system/calico-kube-controllers",
			"network: DaemonSet/kube-system/calico-node",
			"workloads: Deployment/shop/web Deployment/kube-system/calico-kube-controllers IPPool/default",
		},
		"flannel": {
			"CRDs and namespaces: Namespace/kube-flannel",
			"configuration: ConfigMap/kube-flannel/kube-flannel-cfg ServiceAccount/kube-flannel/flannel",
			"network: DaemonSet/kube-system/csi-node Deployment/kube-system/cloud-controller DaemonSet/kube-flannel/kube-flannel-ds",
			"workloads: Deployment/kube-system/csi-controller",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "network", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			p, err := plan.Build(manifests(t, string(text)), plan.Options{Kinds: builtIn(t)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, outline(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// A DaemonSet that lacks one property of a network plugin is an ordinary workload.
func TestNetworkPlugin(t *testing.T) {
	const plugin = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: net}
spec:
  template:
    spec:
      hostNetwork: true
      tolerations: [TOLERATION]
      volumes: [{name: none, emptyDir: {}}, {name: cni, hostPath: {path: /etc/cni/net.d}}]
`
	with := func(replace ...string) string {
		return strings.NewReplacer(append(replace, "TOLERATION", "{operator: Exists}")...).Replace(plugin)
	}
	tolerating := func(toleration string) string { return with("TOLERATION", toleration) }
	for name, tt := range map[string]struct {
		in   string
		want bool
	}{
		"all properties of a plugin":      {with(), true},
		"the folder of a distribution":    {with("/etc/cni/net.d", "/var/snap/microk8s/current/args/cni-network"), true},
		"Deployment instead of DaemonSet": {with("kind: DaemonSet", "kind: Deployment"), false},
		"of another group":                {with("apps/v1", "x.io/v1"), false},
		"without hostNetwork":             {with("hostNetwork: true", "hostNetwork: false"), false},
		"another host path":               {with("/etc/cni/net.d", "/sys/fs/cgroup/acni"), false},
		"no host path":                    {with("hostPath: {path: /etc/cni/net.d}", "emptyDir: {}"), false},
		"tolerates nothing":               {tolerating(""), false},
		"tolerates NoSchedule":            {tolerating("{operator: Exists, effect: NoSchedule}"), true},
		"tolerates only NoExecute":        {tolerating("{operator: Exists, effect: NoExecute}"), false},
		"tolerates not-ready":             {tolerating("{key: node.kubernetes.io/not-ready, effect: NoSchedule}"), true},
		"tolerates not-ready by Exists":   {tolerating("{key: node.kubernetes.io/not-ready, operator: Exists}"), true},
		"tolerates another value":         {tolerating(`{key: node.kubernetes.io/not-ready, operator: Equal, value: "true"}`), false},
		"tolerates the control plane":     {tolerating("{key: node-role.kubernetes.io/control-plane, operator: Exists}"), false},
		"unknown toleration operator":     {tolerating("{operator: Perhaps}"), false},
		"tolerates everything else, too":  {tolerating("{key: a}, {operator: Exists}"), true},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plan.Build(manifests(t, tt.in), plan.Options{Kinds: builtIn(t)})
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Phases[0].Name == "network"; got != tt.want {
				t.Errorf("in phase %s", p.Phases[0].Name)
			}
		})
	}
}

// If no plugin is in the set, the network comes from elsewhere, and the order is the usual one.
// Needs take precedence over the network phase.
func TestPlanWithoutNetworkPhase(t *testing.T) {
	const exporter = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: exporter}
spec: {template: {spec: {hostNetwork: true, tolerations: [{operator: Exists}], volumes: [{hostPath: {path: /sys}}]}}}
---
`
	const plugin = `apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: net
  annotations: {config.kubernetes.io/depends-on: apps/namespaces/default/Deployment/web}
spec: {template: {spec: {hostNetwork: true, tolerations: [{operator: Exists}], volumes: [{hostPath: {path: /opt/cni/bin}}]}}}
---
`
	for name, tt := range map[string]struct {
		in   string
		want []string
	}{
		"no plugin":                         {exporter + short("apps/v1 Deployment web"), []string{"workloads: DaemonSet/default/exporter Deployment/default/web"}},
		"plugin that depends on a workload": {plugin + short("apps/v1 Deployment web"), []string{"workloads: Deployment/default/web", "workloads 2: DaemonSet/default/net"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := plan.Build(manifests(t, tt.in), plan.Options{Kinds: builtIn(t)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, outline(p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
