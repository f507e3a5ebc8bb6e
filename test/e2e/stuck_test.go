package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/stuck"
	harness "github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// gatherer returns a gatherer over the real adapter.
func gatherer(t *testing.T, kubeconfig string) (*stuck.Gatherer, *cluster.Client) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := cluster.New(cluster.Options{REST: config, ServerTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return &stuck.Gatherer{Reader: client.Once()}, client
}

// why explains one object, which has to take less than five seconds.
func why(t *testing.T, c *harness.Cluster, apiVersion, kind, ns, name string) []event.Cause {
	t.Helper()
	g, client := gatherer(t, c.KubeconfigPath)
	live, err := client.Once().Get(t.Context(), schema.FromAPIVersionAndKind(apiVersion, kind), ns, name)
	if err != nil || live == nil {
		t.Fatalf("%s/%s: %v %v", kind, name, live, err)
	}
	began := time.Now()
	facts, err := g.Gather(t.Context(), live)
	if err != nil {
		t.Fatal(err)
	}
	causes := stuck.Diagnose(facts)
	t.Logf("%s/%s in %s by %d requests", kind, name, time.Since(began).Round(time.Millisecond), g.Requests())
	for _, cause := range causes {
		t.Logf("%s: %s\n  %s\n  next: %s\n  risk: %s", cause.Code, cause.Message, strings.Join(cause.Evidence, "\n  "), cause.Next, cause.Risk)
	}
	return causes
}

// first fails the test unless the first cause is the one wanted, and returns it.
func first(t *testing.T, causes []event.Cause, code string) event.Cause {
	t.Helper()
	if len(causes) == 0 || causes[0].Code != code {
		t.Fatalf("the first cause is not %s", code)
	}
	return causes[0]
}

// verbSays fails the test unless the verb's first cause is the one wanted, too.
func verbSays(t *testing.T, c *harness.Cluster, code string, args ...string) {
	t.Helper()
	r := k8sconnect(t, c.KubeconfigPath, append([]string{"stuck", "-o", "json"}, args...)...).ends(t, 1)
	var result struct {
		Objects []struct {
			Causes []struct{ Code, Message, Next string }
		}
		Roots []struct {
			Code  string
			Count int
		}
	}
	if err := json.Unmarshal(r.stdout.Bytes(), &result); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	if len(result.Objects) == 0 || len(result.Objects[0].Causes) == 0 || result.Objects[0].Causes[0].Code != code {
		t.Errorf("the verb does not say %s: %s", code, r)
	}
}

// follow runs the command that a cause names, as it is printed.
func follow(t *testing.T, c *harness.Cluster, cause event.Cause) {
	t.Helper()
	plugins := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(plugins, "kubectl-k8sconnect")); err != nil {
		t.Fatal(err)
	}
	command := cause.Next
	if strings.Contains(command, "--remove-finalizer") {
		command += " --yes" // There is no terminal to confirm it on.
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.KubeconfigPath, "HOME="+t.TempDir(),
		"PATH="+plugins+string(os.PathListSeparator)+filepath.Dir(c.Binary("kubectl"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	t.Logf("$ %s\n%s", command, out)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
}

// gone waits until an object is not there any more.
func gone(t *testing.T, c *harness.Cluster, args ...string) {
	t.Helper()
	until(t, strings.Join(args, " ")+" is gone", func() bool {
		return kubectl(t, c, append([]string{"get", "--ignore-not-found", "-o", "name"}, args...)...) == ""
	})
}

// dying deletes objects without waiting for them.
func dying(t *testing.T, c *harness.Cluster, args ...string) {
	t.Helper()
	kubectl(t, c, append([]string{"delete", "--wait=false"}, args...)...)
}

// widgets defines a kind of the group, which every test has to itself.
func widgets(group string) string {
	return fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`, group)
}

func widget(group, name, finalizer string) string {
	return fmt.Sprintf(`---
apiVersion: %s/v1
kind: Widget
metadata: {name: %s, finalizers: [%q]}
`, group, name, finalizer)
}

// applied applies manifests, and waits for definitions among them.
func applied(t *testing.T, c *harness.Cluster, ns, text string) {
	t.Helper()
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, text)).ends(t, 0)
}

func TestStuckControllerGone(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	applied(t, c, ns, held("one", "example.com/hold"))
	dying(t, c, "configmap/one", "-n", ns)
	cause := first(t, why(t, c, "v1", "ConfigMap", ns, "one"), stuck.FinalizerControllerGone)
	verbSays(t, c, stuck.FinalizerControllerGone, "configmap/one", "-n", ns)
	follow(t, c, cause)
	gone(t, c, "configmap/one", "-n", ns)
}

// Edge case 60: the controller is scaled to zero.
func TestStuckControllerAtZero(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	group := ns + ".example.com"
	applied(t, c, ns, widgets(group)+widget(group, "one", group+"/cleanup")+fmt.Sprintf(`---
apiVersion: v1
kind: ServiceAccount
metadata: {name: widget-operator}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s-operator}
rules:
- {apiGroups: [%[2]s], resources: [widgets, widgets/finalizers], verbs: [get, list, watch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s-operator}
subjects: [{kind: ServiceAccount, name: widget-operator, namespace: %[1]s}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: anything}
spec:
  replicas: 0
  selector: {matchLabels: {app: anything}}
  template:
    metadata: {labels: {app: anything}}
    spec: {serviceAccountName: widget-operator, containers: [{name: manager, image: example.com/manager:1}]}
`, ns, group))
	dying(t, c, "widgets."+group+"/one", "-n", ns)
	cause := first(t, why(t, c, group+"/v1", "Widget", ns, "one"), stuck.FinalizerControllerScaledDown)
	follow(t, c, cause)
	until(t, "the controller runs", func() bool {
		return kubectl(t, c, "get", "deployment/anything", "-n", ns, "-o", "jsonpath={.status.readyReplicas}") == "1"
	})
	first(t, why(t, c, group+"/v1", "Widget", ns, "one"), stuck.FinalizerControllerSilent)

	// It runs, but was never given the right.
	kubectl(t, c, "patch", "clusterrole/"+ns+"-operator", "--type=json", "-p", `[{"op":"replace","path":"/rules/0/resources","value":["widgets/status"]}]`)
	forbidden := first(t, why(t, c, group+"/v1", "Widget", ns, "one"), stuck.FinalizerControllerForbidden)
	if !strings.Contains(forbidden.Next, "can-i") {
		t.Errorf("next: %s", forbidden.Next)
	}
	letGoOf(t, c, "widgets."+group+"/one", "-n", ns)
	kubectl(t, c, "delete", "crd/widgets."+group, "clusterrole/"+ns+"-operator", "clusterrolebinding/"+ns+"-operator")
}

func letGoOf(t *testing.T, c *harness.Cluster, args ...string) {
	t.Helper()
	kubectl(t, c, append([]string{"patch", "--type=json", "-p", `[{"op":"remove","path":"/metadata/finalizers"}]`}, args...)...)
}

// Edge case 61: a webhook at a closed port is asked about the very update that
// removes the finalizer.
func TestStuckWebhookUnreachable(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	applied(t, c, ns, held("one", "example.com/hold")+held("two", "example.com/hold"))
	applied(t, c, ns, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
- name: closed.example.com
  clientConfig: {url: "https://127.0.0.1:1/validate"}
  rules: [{operations: [UPDATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 2
`, ns))
	defer kubectl(t, c, "delete", "validatingwebhookconfiguration/"+ns)
	dying(t, c, "configmap/one", "configmap/two", "-n", ns)
	cause := first(t, why(t, c, "v1", "ConfigMap", ns, "one"), stuck.WebhookUnreachable)

	// Two objects, one root.
	g, _ := gatherer(t, c.KubeconfigPath)
	roots, _, err := g.Survey(t.Context(), stuck.Scope{Selection: selection(ns)})
	if err != nil || len(roots) != 1 || roots[0].Total != 2 || roots[0].Cause.Code != stuck.WebhookUnreachable {
		t.Errorf("roots %+v, %v", roots, err)
	}

	// A namespace that waits for them has the same root.
	dying(t, c, "namespace/"+ns)
	until(t, "the namespace says what remains", func() bool {
		return strings.Contains(kubectl(t, c, "get", "namespace/"+ns, "-o", "jsonpath={.status.conditions}"), "SomeFinalizersRemain")
	})
	first(t, why(t, c, "v1", "Namespace", "", ns), stuck.WebhookUnreachable)
	verbSays(t, c, stuck.WebhookUnreachable, "namespace", ns)
	verbSays(t, c, stuck.WebhookUnreachable, "-n", ns)

	follow(t, c, cause)
	letGoOf(t, c, "configmap/one", "-n", ns)
	letGoOf(t, c, "configmap/two", "-n", ns)
	gone(t, c, "namespace/"+ns)
}

// A policy refuses the update, which is no webhook's doing.
func TestStuckPolicyRefuses(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	applied(t, c, ns, held("one", "example.com/hold")+fmt.Sprintf(`---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    resourceRules: [{operations: [UPDATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  validations: [{expression: "false", message: nobody changes this}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}
`, ns))
	defer kubectl(t, c, "delete", "validatingadmissionpolicybinding/"+ns, "validatingadmissionpolicy/"+ns)
	dying(t, c, "configmap/one", "-n", ns)
	var cause event.Cause
	until(t, "the policy is in force", func() bool {
		cause = why(t, c, "v1", "ConfigMap", ns, "one")[0]
		return cause.Code == stuck.AdmissionRefuses
	})
	if !strings.Contains(strings.Join(cause.Evidence, " "), "nobody changes this") {
		t.Errorf("evidence %q", cause.Evidence)
	}
	follow(t, c, cause)
}

// Edge case 62: what is deleted in the foreground waits for a dependent, and that
// for its own finalizer.
func TestStuckForeground(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	kubectl(t, c, "create", "configmap", "owner", "-n", ns)
	uid := kubectl(t, c, "get", "configmap/owner", "-n", ns, "-o", "jsonpath={.metadata.uid}")
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
	until(t, "the garbage collector has come by", func() bool {
		return kubectl(t, c, "get", "secret/dependent", "-n", ns, "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
	})
	causes := why(t, c, "v1", "ConfigMap", ns, "owner")
	cause := first(t, causes, stuck.FinalizerControllerGone)
	if len(causes) < 2 || causes[1].Code != stuck.ForegroundDependents || causes[1].BlockedBy.Name != "dependent" {
		t.Errorf("what is waited for is not told")
	}
	if strings.Contains(fmt.Sprint(causes), "hunter2") {
		t.Error("the value of a secret")
	}
	follow(t, c, cause)
	gone(t, c, "configmap/owner", "-n", ns)
}

// Edge case 63: a claim that a pod uses.
func TestStuckClaimInUse(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
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
	until(t, "the pod runs", func() bool {
		return kubectl(t, c, "get", "pod/user", "-n", ns, "-o", "jsonpath={.status.phase}") == "Running"
	})
	dying(t, c, "pvc/data", "-n", ns)
	cause := first(t, why(t, c, "v1", "PersistentVolumeClaim", ns, "data"), stuck.ClaimInUse)
	if cause.BlockedBy.Name != "user" {
		t.Errorf("blocked by %s", cause.BlockedBy)
	}
	follow(t, c, cause)
	gone(t, c, "pvc/data", "-n", ns)
}

// Edge case 63: a service whose load balancer nobody releases.
func TestStuckLoadBalancer(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
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

// Edge cases 20 and 64: a definition whose instances can not be read, because the
// webhook that converts them is down.
func TestStuckConversionWebhook(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
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
	until(t, "the new version is stored", func() bool {
		out := k8sconnect(t, c.KubeconfigPath, "wait", "crd/widgets."+group, "--for=condition=Established", "--timeout=1s").String()
		return strings.Contains(out, "met")
	})
	dying(t, c, "crd/widgets."+group)
	var cause event.Cause
	until(t, "the conversion fails", func() bool {
		cause = why(t, c, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)[0]
		return cause.Code == stuck.ConversionWebhookDown
	})
	follow(t, c, cause)
	// Now its instance is seen, and what holds that.
	until(t, "the instance is terminating", func() bool {
		cause = why(t, c, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets."+group)[0]
		return cause.Code == stuck.FinalizerControllerGone
	})
	follow(t, c, cause)
	gone(t, c, "crd/widgets."+group)
}

// Edge case 59: an aggregated API that has nothing to do with the namespace is dead.
// It has a cluster of its own, for no namespace goes while that is so.
func TestStuckAPIService(t *testing.T) {
	c := harness.ForTest(t, harness.Options{Controllers: true})
	ns := namespace(t, c)
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
	until(t, "the namespace says that it can not go", func() bool {
		return strings.Contains(kubectl(t, c, "get", "namespace/"+ns, "-o", "jsonpath={.status.conditions}"), "DiscoveryFailed")
	})
	cause := first(t, why(t, c, "v1", "Namespace", "", ns), stuck.APIServiceUnavailable)
	verbSays(t, c, stuck.APIServiceUnavailable, "-A")
	if !strings.Contains(strings.Join(cause.Evidence, " "), "service/nowhere -n default does not exist") {
		t.Errorf("evidence %q", cause.Evidence)
	}
	follow(t, c, cause)
	gone(t, c, "namespace/"+ns)
}

// Edge case 63: pods on a node that is not ready, with nobody on it to say that
// they have stopped.
func TestStuckPodOnDeadNode(t *testing.T) {
	c := harness.ForTest(t, harness.Options{Controllers: true})
	ns := namespace(t, c)
	applied(t, c, ns, `
apiVersion: v1
kind: Node
metadata: {name: dark}
`)
	kubectl(t, c, "patch", "node/dark", "--subresource=status", "--type=merge", "-p",
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
	until(t, "the grace period is over", func() bool {
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

// A server that answers nothing but errors is told as such, and as nothing else.
func TestStuckServerFailing(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	applied(t, c, ns, held("one", "example.com/hold"))
	dying(t, c, "configmap/one", "-n", ns)
	p, kubeconfig := proxied(t, c)
	g, client := gatherer(t, kubeconfig)
	live, err := client.Once().Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, ns, "one")
	if err != nil {
		t.Fatal(err)
	}
	p.Fail(-1, harness.Path("", "/"), harness.Fault{Status: http.StatusInternalServerError})
	facts, err := g.Gather(t.Context(), live)
	if err != nil {
		t.Fatal(err)
	}
	first(t, stuck.Diagnose(facts), stuck.ServerFailing)
	p.Heal()
	if facts, err = g.Gather(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	first(t, stuck.Diagnose(facts), stuck.FinalizerControllerGone)
	letGoOf(t, c, "configmap/one", "-n", ns)
}

// Edge case 67: what we may not read is unknown, not absent.
func TestStuckNotPermitted(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	applied(t, c, ns, held("one", "example.com/hold"))
	dying(t, c, "configmap/one", "-n", ns)
	kubectl(t, c, "create", "role", "reader", "-n", ns, "--verb=get,list", "--resource=configmaps")
	kubectl(t, c, "create", "rolebinding", "reader", "-n", ns, "--role=reader", "--user=reader")
	kubeconfig, err := c.KubeconfigFor("reader")
	if err != nil {
		t.Fatal(err)
	}
	g, client := gatherer(t, kubeconfig)
	live, err := client.Once().Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, ns, "one")
	if err != nil {
		t.Fatal(err)
	}
	facts, err := g.Gather(t.Context(), live)
	if err != nil {
		t.Fatal(err)
	}
	causes := stuck.Diagnose(facts)
	first(t, causes, stuck.FinalizerUnknown)
	if last := causes[len(causes)-1]; last.Code != stuck.NotPermitted || len(last.Evidence) == 0 {
		t.Errorf("it is not told what could not be read: %+v", last)
	}
	letGoOf(t, c, "configmap/one", "-n", ns)
}

// Edge case 58: a namespace with many objects is slow, not stuck.
func TestStuckSlow(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, configMaps(2000, 1, "1"))).ends(t, 0)
	dying(t, c, "namespace/"+ns)
	g, client := gatherer(t, c.KubeconfigPath)
	g.Pause = 100 * time.Millisecond
	live, err := client.Once().Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", ns)
	if err != nil || live == nil {
		t.Fatalf("gone already: %v", err)
	}
	until(t, "it loses objects", func() bool {
		facts, err := g.Gather(t.Context(), live)
		if err != nil {
			t.Fatal(err)
		}
		cause := stuck.Diagnose(facts)[0]
		t.Log(cause.Code, cause.Message, cause.Evidence)
		return cause.Code == stuck.Progressing
	})
	gone(t, c, "namespace/"+ns)
}

// Two hundred objects of twenty kinds that one webhook holds back are one root and a
// number, for a number of requests that has to do with kinds, not with objects.
func TestStuckSurvey(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	group := ns + ".example.com"
	var definitions, objects strings.Builder
	for i := range 20 {
		kind := fmt.Sprintf("Kind%d", i)
		plural := strings.ToLower(kind) + "s"
		fmt.Fprintf(&definitions, `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[1]s, labels: {survey: %[4]s}}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: %[2]s, kind: %[3]s}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`, group, plural, kind, ns)
		for j := range 10 {
			fmt.Fprintf(&objects, "---\n{apiVersion: %s/v1, kind: %s, metadata: {name: o%d, finalizers: [%s/hold]}}\n", group, kind, j, group)
		}
	}
	applied(t, c, ns, definitions.String()+objects.String())
	applied(t, c, ns, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s}
webhooks:
- name: dead.example.com
  clientConfig: {service: {namespace: %[1]s, name: nowhere}}
  rules: [{operations: [UPDATE], apiGroups: [%[2]s], apiVersions: [v1], resources: ["*"]}]
  sideEffects: None
  admissionReviewVersions: [v1]
`, ns, group))
	var kinds []string
	for i := range 20 {
		kinds = append(kinds, fmt.Sprintf("kind%ds.%s", i, group))
	}
	dying(t, c, strings.Join(kinds, ","), "--all", "-n", ns)
	survey := func() ([]stuck.Root, []stuck.Explained, int) {
		g, _ := gatherer(t, c.KubeconfigPath)
		began := time.Now()
		roots, objects, err := g.Survey(t.Context(), stuck.Scope{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d objects, %d roots, in %s by %d requests", len(objects), len(roots), time.Since(began).Round(time.Millisecond), g.Requests())
		return roots, objects, g.Requests()
	}
	roots, _, requests := survey()
	if root := roots[0]; root.Total != 200 || root.Cause.Code != stuck.WebhookUnreachable || root.Cause.BlockedBy.Name != ns {
		t.Errorf("first root %s %s with %d", root.Cause.Code, root.Cause.BlockedBy, root.Total)
	}
	if requests > 200 {
		t.Errorf("%d requests", requests)
	}
	for _, root := range roots {
		t.Logf("%s %s holds back %d", root.Cause.Code, root.Cause.BlockedBy, root.Total)
	}
	kubectl(t, c, "delete", "validatingwebhookconfiguration/"+ns)
	for name := range strings.FieldsSeq(kubectl(t, c, "get", strings.Join(kinds, ","), "-n", ns, "-o", "name")) {
		letGoOf(t, c, name, "-n", ns)
	}
	kubectl(t, c, "delete", "crd", "-l", "survey="+ns)
}

func selection(ns string) object.Selection { return object.Selection{Namespace: ns} }

// A namespace with a finalizer in its spec: the command takes that one, and leaves
// those in its metadata, and its labels.
func TestStuckOnSpecFinalizer(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c) + "-x"
	applied(t, c, "", fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %s, labels: {team: shop}, finalizers: [example.com/other]}
spec: {finalizers: [kubernetes, example.com/tenant]}
`, ns))
	dying(t, c, "namespace/"+ns)
	follow(t, c, first(t, why(t, c, "v1", "Namespace", "", ns), stuck.NamespaceFinalizer))
	left := kubectl(t, c, "get", "namespace/"+ns, "-o", "jsonpath={.metadata.finalizers[*]} {.metadata.labels.team}")
	if left != "example.com/other shop" {
		t.Errorf("what is left of it: %q", left)
	}
	kubectl(t, c, "patch", "namespace/"+ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	gone(t, c, "namespace/"+ns)
}
