package deprecation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
)

func lines(notices []deprecation.FieldNotice) []string {
	var out []string
	for _, n := range notices {
		out = append(out, n.String())
	}
	return out
}

func TestFields(t *testing.T) {
	for name, tt := range map[string]struct {
		object, server string
		want           []string
	}{
		"Service": {
			`{apiVersion: v1, kind: Service, metadata: {annotations: {service.kubernetes.io/topology-aware-hints: Auto}},
			  spec: {loadBalancerIP: 192.0.2.7, externalIPs: [192.0.2.8], trafficDistribution: PreferClose}}`, "1.36",
			[]string{
				".spec.loadBalancerIP is deprecated since 1.24; use the annotations of the load balancer's provider",
				".spec.externalIPs is deprecated since 1.36; use a load balancer, or a Gateway",
				".spec.trafficDistribution: PreferClose is deprecated since 1.34; use PreferSameZone",
				`.metadata.annotations["service.kubernetes.io/topology-aware-hints"] is deprecated since 1.27; use service.kubernetes.io/topology-mode`,
			},
		},
		"a server that has not deprecated them": {
			`{apiVersion: v1, kind: Service, spec: {externalIPs: [192.0.2.8], trafficDistribution: PreferClose}}`, "1.33", nil,
		},
		"set to empty values": {
			`{apiVersion: v1, kind: Service, spec: {loadBalancerIP: "", externalIPs: [], trafficDistribution: PreferSameZone}}`, "1.37", nil,
		},
		"Ingress": {
			`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {annotations: {kubernetes.io/ingress.class: nginx}}}`, "1.36",
			[]string{`.metadata.annotations["kubernetes.io/ingress.class"] is deprecated since 1.18; use .spec.ingressClassName`},
		},
		"labels of nodes in a CronJob": {
			`{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {
			  nodeSelector: {beta.kubernetes.io/os: linux, kubernetes.io/arch: arm64},
			  topologySpreadConstraints: [{topologyKey: kubernetes.io/hostname}, {topologyKey: failure-domain.beta.kubernetes.io/zone}],
			  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{preference: {matchExpressions: [{key: node-role.kubernetes.io/master}]}}]}}}}}}}}`, "1.36",
			[]string{
				`.spec.jobTemplate.spec.template.spec.nodeSelector["beta.kubernetes.io/os"] is deprecated since 1.14; use kubernetes.io/os`,
				`.spec.jobTemplate.spec.template.spec.affinity.nod…gExecution[0].preference.matchExpressions[0].key: node-role.kubernetes.io/master is deprecated since 1.20; use node-role.kubernetes.io/control-plane`,
				`.spec.jobTemplate.spec.template.spec.topologySpreadConstraints[1].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since 1.17; use topology.kubernetes.io/zone`,
			},
		},
		"volumes in a StatefulSet, and its claims": {
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {
			  volumeClaimTemplates: [{metadata: {name: data, annotations: {volume.beta.kubernetes.io/storage-class: fast}}}],
			  template: {spec: {volumes: [{name: a, emptyDir: {}}, {name: b, cephfs: {monitors: [m]}}, {name: c, awsElasticBlockStore: {volumeID: v}}]}}}}`, "1.30",
			[]string{
				`.spec.template.spec.volumes[name="c"].awsElasticBlockStore is deprecated since 1.17; use the CSI driver ebs.csi.aws.com`,
				`.spec.template.spec.volumes[name="b"].cephfs is deprecated since 1.28; use a CSI driver`,
				`.spec.volumeClaimTemplates[0].metadata.annotations["volume.beta.kubernetes.io/storage-class"] is deprecated since 1.8; use .spec.storageClassName`,
			},
		},
		"fields that are non-functional": {
			`{apiVersion: v1, kind: Pod, metadata: {annotations: {container.seccomp.security.alpha.kubernetes.io/app: unconfined, seccomp.security.alpha.kubernetes.io/pod: runtime/default}},
			  spec: {volumes: [{name: b, cephfs: {monitors: [m]}}]}}`, "1.36",
			[]string{
				`.spec.volumes[name="b"].cephfs is deprecated since 1.28, non-functional since 1.31; use a CSI driver`,
				`.metadata.annotations["seccomp.security.alpha.kubernetes.io/pod"] is deprecated since 1.19, non-functional since 1.27; use .spec.securityContext.seccompProfile`,
				`.metadata.annotations["container.seccomp.security.alpha.kubernetes.io/app"] is deprecated since 1.19, non-functional since 1.27; use the container's securityContext.seccompProfile`,
			},
		},
		"annotations beside the field that replaced them": {
			`{apiVersion: apps/v1, kind: Deployment, spec: {template: {
			  metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/app: runtime/default, seccomp.security.alpha.kubernetes.io/pod: runtime/default}},
			  spec: {securityContext: {seccompProfile: {type: RuntimeDefault}}, containers: [{name: app, securityContext: {appArmorProfile: {type: RuntimeDefault}}}]}}}}`, "1.36", nil,
		},
		"the old name of the service account": {
			`{apiVersion: v1, kind: ReplicationController, spec: {template: {spec: {serviceAccount: me}}}}`, "",
			[]string{`.spec.template.spec.serviceAccount is deprecated; use .spec.serviceAccountName`},
		},
		"both names, as the API server answers": {
			`{apiVersion: v1, kind: Pod, spec: {serviceAccount: me, serviceAccountName: me}}`, "1.36", nil,
		},
		"PersistentVolume": {
			`{apiVersion: v1, kind: PersistentVolume, spec: {persistentVolumeReclaimPolicy: Recycle, rbd: {image: i},
			  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: failure-domain.beta.kubernetes.io/region}]}]}}}}`, "1.36",
			[]string{
				".spec.persistentVolumeReclaimPolicy: Recycle is deprecated; use dynamic provisioning",
				".spec.rbd is deprecated since 1.28, non-functional since 1.31; use a CSI driver",
				".spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: failure-domain.beta.kubernetes.io/region is deprecated since 1.17; use topology.kubernetes.io/region",
			},
		},
		"a custom resource of the same kind": {`{apiVersion: example.com/v1, kind: Service, spec: {loadBalancerIP: 192.0.2.7}}`, "1.36", nil},
		"fields of a wrong type": {
			`{apiVersion: v1, kind: Pod, metadata: {annotations: []}, spec: {volumes: {a: 1}, nodeSelector: text, affinity: [], containers: [1, null]}}`, "1.36", nil,
		},
		"no pod template": {`{apiVersion: apps/v1, kind: Deployment, spec: {template: 1}}`, "1.36", nil},
	} {
		got := lines(deprecation.Fields(parse(t, tt.object), release(t, tt.server)))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	if got := deprecation.Fields(nil, release(t, "1.36")); got != nil {
		t.Errorf("no object: %v", got)
	}
}

func TestNewFields(t *testing.T) {
	const spread = `{apiVersion: v1, kind: Pod, spec: {topologySpreadConstraints: [{topologyKey: failure-domain.beta.kubernetes.io/zone}]}}`
	for name, tt := range map[string]struct {
		old, updated string
		want         []string
	}{
		"newly set": {
			`{apiVersion: v1, kind: Service, spec: {}}`, `{apiVersion: v1, kind: Service, spec: {loadBalancerIP: 192.0.2.7}}`,
			[]string{".spec.loadBalancerIP is deprecated since 1.24; use the annotations of the load balancer's provider"},
		},
		"another value": {
			`{apiVersion: v1, kind: Service, spec: {loadBalancerIP: 192.0.2.6}}`, `{apiVersion: v1, kind: Service, spec: {loadBalancerIP: 192.0.2.7}}`, nil,
		},
		"removed": {`{apiVersion: v1, kind: Service, spec: {loadBalancerIP: 192.0.2.6}}`, `{apiVersion: v1, kind: Service, spec: {}}`, nil},
		"moved in its list": {
			spread, `{apiVersion: v1, kind: Pod, spec: {topologySpreadConstraints: [{topologyKey: zone}, {topologyKey: failure-domain.beta.kubernetes.io/zone}]}}`, nil,
		},
		"another value at the same place": {
			spread, `{apiVersion: v1, kind: Pod, spec: {topologySpreadConstraints: [{topologyKey: failure-domain.beta.kubernetes.io/region}]}}`,
			[]string{".spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/region is deprecated since 1.17; use topology.kubernetes.io/region"},
		},
		"another volume": {
			`{apiVersion: v1, kind: Pod, spec: {volumes: [{name: a, flexVolume: {driver: d}}]}}`,
			`{apiVersion: v1, kind: Pod, spec: {volumes: [{name: a, flexVolume: {driver: d}}, {name: b, flexVolume: {driver: d}}]}}`,
			[]string{`.spec.volumes[name="b"].flexVolume is deprecated since 1.23; use a CSI driver`},
		},
	} {
		got := lines(deprecation.NewFields(parse(t, tt.old), parse(t, tt.updated), release(t, "1.36")))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// The API server warns about a field in each kind that has it, but not in every update.
func TestServerWarnsOfUpdates(t *testing.T) {
	for object, want := range map[string]bool{
		`{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {nodeSelector: {beta.kubernetes.io/os: linux}}}}}`:       true,
		`{apiVersion: v1, kind: ReplicationController, spec: {template: {spec: {nodeSelector: {beta.kubernetes.io/os: linux}}}}}`: false,
		`{apiVersion: v1, kind: Pod, metadata: {annotations: {security.alpha.kubernetes.io/sysctls: a=b}}}`:                       false,
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {annotations: {kubernetes.io/ingress.class: nginx}}}`:        false,
	} {
		u := parse(t, object)
		empty := u.DeepCopy()
		empty.Object = map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind()}
		created, updated := deprecation.NewFields(nil, u, release(t, "1.36")), deprecation.NewFields(empty, u, release(t, "1.36"))
		if len(created) != 1 || !created[0].ServerWarns || len(updated) != 1 || updated[0].ServerWarns != want {
			t.Errorf("%s: created %+v, updated %+v", object, created, updated)
		}
	}
}

// No notice contains a value of the object.
func TestFieldsContainNoValues(t *testing.T) {
	const secret = "hunter2hunter2"
	u := parse(t, strings.ReplaceAll(`{apiVersion: v1, kind: Pod,
	  metadata: {annotations: {seccomp.security.alpha.kubernetes.io/pod: SECRET, security.alpha.kubernetes.io/sysctls: SECRET}},
	  spec: {serviceAccount: SECRET, nodeSelector: {beta.kubernetes.io/os: SECRET}, volumes: [{name: a, gitRepo: {repository: SECRET}}, {gitRepo: {repository: SECRET}}],
	  containers: [{name: c, lifecycle: {preStop: {tcpSocket: {host: SECRET}}}}]}}`, "SECRET", secret))
	got := lines(deprecation.Fields(u, release(t, "1.37")))
	if len(got) != 7 {
		t.Errorf("%d notices, want 7:\n%s", len(got), strings.Join(got, "\n"))
	}
	if text := strings.Join(got, "\n"); strings.Contains(text, secret) {
		t.Error(text)
	}
}
