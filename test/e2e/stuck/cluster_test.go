package stuck_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A server that returns only errors is reported as such, and not as anything else.
func TestStuckServerFailing(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, e2etest.Held("one", "example.com/hold"))
	dying(t, c, "configmap/one", "-n", ns)
	p, kubeconfig := e2etest.Proxied(t, c)
	g, client := gatherer(t, kubeconfig)
	live, err := client.NoRetry().Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, ns, "one")
	if err != nil {
		t.Fatal(err)
	}
	p.Fail(-1, proxy.Path("", "/"), proxy.Fault{Status: http.StatusInternalServerError})
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

// Edge case 67: objects that we may not read are unknown, not absent.
func TestStuckNotPermitted(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	applied(t, c, ns, e2etest.Held("one", "example.com/hold"))
	dying(t, c, "configmap/one", "-n", ns)
	e2etest.Kubectl(t, c, "create", "role", "reader", "-n", ns, "--verb=get,list", "--resource=configmaps")
	e2etest.Kubectl(t, c, "create", "rolebinding", "reader", "-n", ns, "--role=reader", "--user=reader")
	kubeconfig, err := c.KubeconfigFor("reader")
	if err != nil {
		t.Fatal(err)
	}
	g, client := gatherer(t, kubeconfig)
	live, err := client.NoRetry().Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, ns, "one")
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
		t.Errorf("the missing right is not reported: %+v", last)
	}
	letGoOf(t, c, "configmap/one", "-n", ns)
}

// Edge case 58: a namespace with many objects is slow, not stuck.
func TestStuckSlow(t *testing.T) {
	circle.Full(t)
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(2000, 1, "1"))).Ends(t, 0)
	dying(t, c, "namespace/"+ns)
	g, client := gatherer(t, c.KubeconfigPath)
	g.Pause = 100 * time.Millisecond
	live, err := client.NoRetry().Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", ns)
	if err != nil || live == nil {
		t.Fatalf("gone already: %v", err)
	}
	e2etest.Until(t, "it loses objects", func() bool {
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

// Two hundred objects of twenty kinds that one webhook blocks have one root cause with a number.
// The number of requests depends on the kinds, not the objects.
func TestStuckSurvey(t *testing.T) {
	circle.Full(t)
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
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
		t.Errorf("first root is %s %s with %d objects, want the webhook with 200", root.Cause.Code, root.Cause.BlockedBy, root.Total)
	}
	if requests > 200 {
		t.Errorf("%d requests", requests)
	}
	for _, root := range roots {
		t.Logf("%s %s holds back %d", root.Cause.Code, root.Cause.BlockedBy, root.Total)
	}
	e2etest.Kubectl(t, c, "delete", "validatingwebhookconfiguration/"+ns)
	for name := range strings.FieldsSeq(e2etest.Kubectl(t, c, "get", strings.Join(kinds, ","), "-n", ns, "-o", "name")) {
		letGoOf(t, c, name, "-n", ns)
	}
	e2etest.Kubectl(t, c, "delete", "crd", "-l", "survey="+ns)
}

func selection(ns string) object.Selection { return object.Selection{Namespace: ns} }

// For a namespace with a finalizer in its spec, the command removes only that one, and keeps the
// metadata's finalizers and labels.
func TestStuckOnSpecFinalizer(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c) + "-x"
	applied(t, c, "", fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %s, labels: {team: shop}, finalizers: [example.com/other]}
spec: {finalizers: [kubernetes, example.com/tenant]}
`, ns))
	dying(t, c, "namespace/"+ns)
	cause := first(t, why(t, c, "v1", "Namespace", "", ns), stuck.NamespaceFinalizer)
	e2etest.Plugin(t, c.KubeconfigPath, "delete", "namespace/"+ns, "--remove-finalizer=kubernetes", "--yes").Ends(t, 1).
		Says(t, "keeps the finalizer kubernetes, which is needed to delete its contents")
	e2etest.Plugin(t, c.KubeconfigPath, "delete", "namespace/"+ns, "--remove-finalizer=example.com/none", "--yes").Ends(t, 1).
		Says(t, "it has example.com/other, kubernetes, example.com/tenant")
	cause.Next += " --wait=false" // for the finalizer in its metadata
	follow(t, c, cause)
	left := e2etest.Kubectl(t, c, "get", "namespace/"+ns, "-o", "jsonpath={.metadata.finalizers[*]} {.metadata.labels.team}")
	if left != "example.com/other shop" {
		t.Errorf("finalizers and label are %q, want example.com/other and shop", left)
	}
	e2etest.Kubectl(t, c, "patch", "namespace/"+ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	gone(t, c, "namespace/"+ns)
}
