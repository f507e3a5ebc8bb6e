package stuck_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	harness "github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/commandtest"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// gatherer returns an explainer with a real client.
func gatherer(t *testing.T, kubeconfig string) (*stuck.Explainer, *client.Client) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := client.New(client.Options{REST: config, ServerTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return &stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: client.NoRetry()}}, client
}

// why explains one object in less than five seconds.
func why(t *testing.T, c *harness.Cluster, apiVersion, kind, ns, name string) []event.Cause {
	t.Helper()
	g, client := gatherer(t, c.KubeconfigPath)
	live, err := client.NoRetry().Get(t.Context(), schema.FromAPIVersionAndKind(apiVersion, kind), ns, name)
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
		t.Logf("%s: %s\n  %s\n  next: %s\n  risk: %s", cause.Code, cause.Message, strings.Join(cause.Evidence, "\n  "), commandtest.Plain(cause.Next), cause.Risk)
	}
	return causes
}

// first fails the test unless the first cause has the wanted code, and returns it.
func first(t *testing.T, causes []event.Cause, code string) event.Cause {
	t.Helper()
	if len(causes) == 0 || causes[0].Code != code {
		t.Fatalf("the first cause is not %s", code)
	}
	return causes[0]
}

// verbSays fails the test unless the verb's first cause also has that code.
func verbSays(t *testing.T, c *harness.Cluster, code string, args ...string) {
	t.Helper()
	r := e2etest.Plugin(t, c.KubeconfigPath, append([]string{"stuck", "-o", "json"}, args...)...).Ends(t, 1)
	var result struct {
		Objects []struct {
			Causes []struct{ Code, Message, Next string }
		}
		Roots []struct {
			Code  string
			Count int
		}
	}
	if err := json.Unmarshal(r.Stdout.Bytes(), &result); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	if len(result.Objects) == 0 || len(result.Objects[0].Causes) == 0 || result.Objects[0].Causes[0].Code != code {
		t.Errorf("the verb does not report %s first: %s", code, r)
	}
}

// follow runs a cause's printed command.
func follow(t *testing.T, c *harness.Cluster, cause event.Cause) {
	t.Helper()
	command := commandtest.Plain(cause.Next)
	if strings.Contains(command, "--remove-finalizer") {
		command += " --yes" // There is no terminal to confirm it on.
	}
	e2etest.InShell(t, c, command)
}

// gone waits until an object is gone.
func gone(t *testing.T, c *harness.Cluster, args ...string) {
	t.Helper()
	e2etest.Until(t, strings.Join(args, " ")+" is gone", func() bool {
		return e2etest.Kubectl(t, c, append([]string{"get", "--ignore-not-found", "-o", "name"}, args...)...) == ""
	})
}

// dying deletes objects without waiting for them.
func dying(t *testing.T, c *harness.Cluster, args ...string) {
	t.Helper()
	e2etest.Kubectl(t, c, append([]string{"delete", "--wait=false"}, args...)...)
}

// widgets defines a kind for one test in its own group.
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

// applied applies manifests, and waits for their definitions.
func applied(t *testing.T, c *harness.Cluster, ns, text string) {
	t.Helper()
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, text)).Ends(t, 0)
}

func TestStuckControllerGone(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, e2etest.Held("one", "example.com/hold"))
	dying(t, c, "configmap/one", "-n", ns)
	cause := first(t, why(t, c, "v1", "ConfigMap", ns, "one"), stuck.FinalizerControllerGone)
	verbSays(t, c, stuck.FinalizerControllerGone, "configmap/one", "-n", ns)
	follow(t, c, cause)
	gone(t, c, "configmap/one", "-n", ns)
}

// Edge case 60: the controller is scaled to zero.
func TestStuckControllerScaledToZero(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
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
	e2etest.Until(t, "the controller runs", func() bool {
		return e2etest.Kubectl(t, c, "get", "deployment/anything", "-n", ns, "-o", "jsonpath={.status.readyReplicas}") == "1"
	})
	first(t, why(t, c, group+"/v1", "Widget", ns, "one"), stuck.FinalizerControllerSilent)

	// The controller runs, but lacks the right.
	e2etest.Kubectl(t, c, "patch", "clusterrole/"+ns+"-operator", "--type=json", "-p", `[{"op":"replace","path":"/rules/0/resources","value":["widgets/status"]}]`)
	forbidden := first(t, why(t, c, group+"/v1", "Widget", ns, "one"), stuck.FinalizerControllerForbidden)
	if !strings.Contains(forbidden.Next, "can-i") {
		t.Errorf("next: %s", forbidden.Next)
	}
	letGoOf(t, c, "widgets."+group+"/one", "-n", ns)
	e2etest.Kubectl(t, c, "delete", "crd/widgets."+group, "clusterrole/"+ns+"-operator", "clusterrolebinding/"+ns+"-operator")
}

func letGoOf(t *testing.T, c *harness.Cluster, args ...string) {
	t.Helper()
	e2etest.Kubectl(t, c, append([]string{"patch", "--type=json", "-p", `[{"op":"remove","path":"/metadata/finalizers"}]`}, args...)...)
}

// Edge case 61: a webhook at a closed port is called for the update that removes the finalizer.
func TestStuckWebhookUnreachable(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, e2etest.Held("one", "example.com/hold")+e2etest.Held("two", "example.com/hold"))
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
	defer e2etest.Kubectl(t, c, "delete", "validatingwebhookconfiguration/"+ns)
	dying(t, c, "configmap/one", "configmap/two", "-n", ns)
	cause := first(t, why(t, c, "v1", "ConfigMap", ns, "one"), stuck.WebhookUnreachable)

	// Two objects with one root cause.
	g, _ := gatherer(t, c.KubeconfigPath)
	roots, _, err := g.Survey(t.Context(), stuck.Scope{Selection: selection(ns)})
	if err != nil || len(roots) != 1 || roots[0].Total != 2 || roots[0].Cause.Code != stuck.WebhookUnreachable {
		t.Errorf("roots %+v, %v", roots, err)
	}

	// A namespace that waits for them has the same root cause.
	dying(t, c, "namespace/"+ns)
	e2etest.Until(t, "the namespace says what remains", func() bool {
		return strings.Contains(e2etest.Kubectl(t, c, "get", "namespace/"+ns, "-o", "jsonpath={.status.conditions}"), "SomeFinalizersRemain")
	})
	first(t, why(t, c, "v1", "Namespace", "", ns), stuck.WebhookUnreachable)
	verbSays(t, c, stuck.WebhookUnreachable, "namespace", ns)
	verbSays(t, c, stuck.WebhookUnreachable, "-n", ns)

	follow(t, c, cause)
	letGoOf(t, c, "configmap/one", "-n", ns)
	letGoOf(t, c, "configmap/two", "-n", ns)
	gone(t, c, "namespace/"+ns)
}

// A policy refuses the update; no webhook is involved.
func TestStuckPolicyRefuses(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, e2etest.Held("one", "example.com/hold")+fmt.Sprintf(`---
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
	defer e2etest.Kubectl(t, c, "delete", "validatingadmissionpolicybinding/"+ns, "validatingadmissionpolicy/"+ns)
	dying(t, c, "configmap/one", "-n", ns)
	var cause event.Cause
	e2etest.Until(t, "the policy is in force", func() bool {
		cause = why(t, c, "v1", "ConfigMap", ns, "one")[0]
		return cause.Code == stuck.AdmissionRefuses
	})
	if !strings.Contains(cause.Message, "nobody changes this") || cause.BlockedBy.GVK.Kind != "ValidatingAdmissionPolicy" || cause.BlockedBy.Name != ns {
		t.Errorf("%+v", cause)
	}
	follow(t, c, cause)
}
