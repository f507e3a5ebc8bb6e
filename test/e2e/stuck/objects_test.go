package stuck_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	harness "github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// Edge case 62: an object deleted in the foreground waits for a dependent, which waits for its own
// finalizer.
func TestStuckForeground(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "configmap", "owner", "-n", ns)
	uid := e2etest.Kubectl(t, c, "get", "configmap/owner", "-n", ns, "-o", "jsonpath={.metadata.uid}")
	applied(t, c, ns, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata:
  name: dependent
  finalizers: [example.com/hold]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s, blockOwnerDeletion: true}]
stringData: {password: hunter2hunter2}
`, uid))
	dying(t, c, "configmap/owner", "-n", ns, "--cascade=foreground")
	e2etest.Until(t, "the garbage collector has come by", func() bool {
		return e2etest.Kubectl(t, c, "get", "secret/dependent", "-n", ns, "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
	})
	causes := why(t, c, "v1", "ConfigMap", ns, "owner")
	cause := first(t, causes, stuck.FinalizerControllerGone)
	if len(causes) < 2 || causes[1].Code != stuck.ForegroundDependents || causes[1].BlockedBy.Name != "dependent" {
		t.Errorf("the dependent is not reported")
	}
	if strings.Contains(fmt.Sprint(causes), "hunter2") {
		t.Error("the causes contain the value of a Secret")
	}
	follow(t, c, cause)
	gone(t, c, "configmap/owner", "-n", ns)
}

// Edge case 63: a claim that a pod uses.
func TestStuckClaimInUse(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  containers: [{name: app, image: example.com/app:1}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`)
	e2etest.Until(t, "the pod runs", func() bool {
		return e2etest.Kubectl(t, c, "get", "pod/user", "-n", ns, "-o", "jsonpath={.status.phase}") == "Running"
	})
	dying(t, c, "pvc/data", "-n", ns)
	cause := first(t, why(t, c, "v1", "PersistentVolumeClaim", ns, "data"), stuck.ClaimInUse)
	if cause.BlockedBy.Name != "user" {
		t.Errorf("blocked by %s, want the pod", cause.BlockedBy)
	}
	follow(t, c, cause)
	gone(t, c, "pvc/data", "-n", ns)
}

// Edge case 63: a service whose load balancer is never released.
func TestStuckLoadBalancer(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, `
apiVersion: v1
kind: Service
metadata: {name: front, finalizers: [service.kubernetes.io/load-balancer-cleanup]}
spec: {type: LoadBalancer, ports: [{port: 80}]}
`)
	dying(t, c, "service/front", "-n", ns)
	cause := first(t, why(t, c, "v1", "Service", ns, "front"), stuck.LoadBalancerControllerGone)
	follow(t, c, cause)
	gone(t, c, "service/front", "-n", ns)
}

// Edge cases 20 and 64: a definition whose instances cannot be read, because their conversion
// webhook is down.
func TestStuckConversionWebhook(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	group := ns + ".example.com"
	applied(t, c, ns, widgets(group)+widget(group, "one", "example.com/hold"))
	applied(t, c, ns, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
`, group))
	e2etest.Until(t, "the new version is stored", func() bool {
		out := e2etest.Plugin(t, c.KubeconfigPath, "wait", "crd/widgets."+group, "--for=condition=Established", "--timeout=1s").String()
		return strings.Contains(out, "met")
	})
	dying(t, c, "crd/widgets."+group)
	var cause event.Cause
	e2etest.Until(t, "the conversion fails", func() bool {
		cause = why(t, c, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)[0]
		return cause.Code == stuck.ConversionWebhookDown
	})
	follow(t, c, cause)
	// Now the instance and what blocks it can be seen.
	e2etest.Until(t, "the instance is terminating", func() bool {
		cause = why(t, c, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)[0]
		return cause.Code == stuck.FinalizerControllerGone && cause.Next != "" // Before, only waiting helps.
	})
	follow(t, c, cause)
	gone(t, c, "crd/widgets."+group)
}

// Edge case 59: an unrelated aggregated API is down. No namespace can be removed meanwhile, so the
// test uses its own cluster.
func TestStuckAPIService(t *testing.T) {
	t.Parallel() // uses its own cluster
	c := harness.ForTest(t, harness.Options{Controllers: true})
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.dead.example.com}
spec:
  group: dead.example.com
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: nowhere, namespace: default}
`)
	dying(t, c, "namespace/"+ns)
	e2etest.Until(t, "the namespace says that it cannot go", func() bool {
		return strings.Contains(e2etest.Kubectl(t, c, "get", "namespace/"+ns, "-o", "jsonpath={.status.conditions}"), "DiscoveryFailed")
	})
	cause := first(t, why(t, c, "v1", "Namespace", "", ns), stuck.APIServiceUnavailable)
	verbSays(t, c, stuck.APIServiceUnavailable, "-A")
	if !strings.Contains(strings.Join(cause.Evidence, " "), "service/nowhere -n default does not exist") {
		t.Errorf("evidence %q", cause.Evidence)
	}
	follow(t, c, cause)
	gone(t, c, "namespace/"+ns)
}

// Edge case 63: pods on a node that is not ready, with no kubelet to confirm that they
// have stopped.
func TestStuckPodOnDeadNode(t *testing.T) {
	t.Parallel() // uses its own cluster
	c := harness.ForTest(t, harness.Options{Controllers: true})
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, `
apiVersion: v1
kind: Node
metadata: {name: dark}
`)
	e2etest.Kubectl(t, c, "patch", "node/dark", "--subresource=status", "--type=merge", "-p",
		`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown","message":"Kubelet stopped posting node status."}]}}`)
	applied(t, c, ns, `
apiVersion: v1
kind: Pod
metadata: {name: lost, labels: {app: lost}}
spec:
  nodeName: dark
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: example.com/app:1}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: suspect}
spec: {minAvailable: 1, selector: {matchLabels: {app: lost}}}
`)
	dying(t, c, "pod/lost", "-n", ns)
	var cause event.Cause
	e2etest.Until(t, "the grace period is over", func() bool {
		cause = why(t, c, "v1", "Pod", ns, "lost")[0]
		return cause.Code == stuck.NodeNotReady
	})
	verbSays(t, c, stuck.NodeNotReady, "pod/lost", "-n", ns)
	if !strings.Contains(strings.Join(cause.Evidence, " "), "PodDisruptionBudget suspect is not the reason") { // edge case 65
		t.Errorf("evidence %q", cause.Evidence)
	}
	follow(t, c, cause)
	gone(t, c, "pod/lost", "-n", ns)
}
