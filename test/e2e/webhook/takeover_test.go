package webhook_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
)

// settings is a ConfigMap in a namespace.
func settings(namespace, name, data string) *unstructured.Unstructured {
	return object("v1", "ConfigMap", "metadata: {name: "+name+", namespace: "+namespace+"}\ndata: "+data)
}

func (r *running) namespace(t *testing.T, name string) {
	t.Helper()
	r.admin.must(t, "v1", "Namespace", "metadata: {name: "+name+"}")
	r.admin.reported()
}

// Every kind of client that takes a path gets a warning at once, which names the object.
func TestEveryClientGetsWarning(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	const ns = "clients"
	r.namespace(t, ns)
	set := func(k string) func(map[string]any) {
		return func(o map[string]any) { o["data"].(map[string]any)["k"] = k }
	}
	tests := map[string]struct {
		write func(t *testing.T, name string) []string
		want  string
	}{
		"kubectl-apply": {
			func(t *testing.T, name string) []string {
				_, message := kubectl(t, r.Cluster, `{apiVersion: v1, kind: ConfigMap, metadata: {name: `+name+`, namespace: clients}, data: {k: "2"}}`,
					"apply", "--server-side", "-f", "-", "--force-conflicts")
				return strings.Split(strings.TrimSuffix(message, "\n"), "\n")
			}, "Warning: ConfigMap/clients/kubectl-apply: .data.k taken from argocd-controller by kubectl",
		},
		"kubectl-patch": {
			func(t *testing.T, name string) []string {
				_, message := kubectl(t, r.Cluster, "", "patch", "configmap", name, "-n", ns, "-p", `{"data":{"k":"2"}}`)
				return strings.Split(strings.TrimSuffix(message, "\n"), "\n")
			}, "Warning: ConfigMap/clients/kubectl-patch: .data.k taken from argocd-controller by kubectl-patch",
		},
		"helm3": { // reads, changes and writes
			func(t *testing.T, name string) []string {
				r.admin.update(t, settings(ns, name, "{}"), "helm", set("2"))
				return r.admin.reported()
			}, "ConfigMap/clients/helm3: .data.k taken from argocd-controller by helm",
		},
		"flux": { // applies by force
			func(t *testing.T, name string) []string {
				r.admin.apply(t, settings(ns, name, `{k: "2"}`), "kustomize-controller", false)
				return r.admin.reported()
			}, "ConfigMap/clients/flux: .data.k taken from argocd-controller by kustomize-controller",
		},
		"raw": { // without a manager: the API server uses the program's name
			func(t *testing.T, name string) []string {
				r.admin.update(t, settings(ns, name, "{}"), "", set("2"))
				return r.admin.reported()
			}, "ConfigMap/clients/raw: .data.k taken from argocd-controller by " + filepath.Base(os.Args[0]),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r.admin.apply(t, settings(ns, name, `{k: "1"}`), "argocd-controller", false)
			if reported := r.admin.reported(); reported != nil {
				t.Errorf("a create caused the warnings %q", reported)
			}
			if diff := cmp.Diff([]string{tt.want}, tt.write(t, name)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// The basis of promise 3: a hint's description of the written object is what the API server then
// stores, as metadata watches see it. It names the user in addition to the manager (edge case 73).
func TestHintMatchesStoredObject(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	r.namespace(t, "hints")
	// JSON can spell the variable's name in several ways.
	web := func(value string) *unstructured.Unstructured {
		return object("apps/v1", "Deployment", `
metadata: {name: a, namespace: hints}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec: {containers: [{name: app, image: "registry.example/web:1", env: [{name: "A<B&C", value: "`+value+`"}]}]}`)
	}
	before := r.admin.apply(t, web("1"), "argo", false)
	after := r.admin.apply(t, web("2"), "flux", false)
	hints := r.hints.of(after)
	if len(hints) != 1 {
		t.Fatalf("hints %+v", hints)
	}
	h := hints[0]
	if h.User != "kubernetes-admin" || h.ResourceVersion != before.GetResourceVersion() || h.Request == "" {
		t.Errorf("hint %+v", h)
	}
	if !h.Owners.Equal(ownership.Compact(r.metadata(t, "deployments", after).ManagedFields)) {
		t.Error("the hint has other owners than the object")
	}
}

// Edge case 70: a write that the API server refuses for a conflict never reaches the webhook, so
// there is no warning about a takeover.
func TestConflictIsNoTakeover(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	r.namespace(t, "conflict")
	u := r.admin.apply(t, settings("conflict", "a", `{k: "1"}`), "argo", false)
	door, err := r.admin.door(u)
	if err != nil {
		t.Fatal(err)
	}
	calls := r.calls(t, "ownership")
	_, err = door.Apply(t.Context(), "a", settings("conflict", "a", `{k: "2"}`), metav1.ApplyOptions{FieldManager: "flux"})
	if err == nil {
		t.Fatal("no conflict")
	}
	if n := r.calls(t, "ownership") - calls; n != 0 || r.admin.reported() != nil || len(r.hints.of(u)) > 0 {
		t.Errorf("%d calls, want none; hints %+v, want none", n, r.hints.of(u))
	}
}

// Edge case 77: a dry run warns, and leaves no hint.
func TestDryRun(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	r.namespace(t, "dry")
	u := r.admin.apply(t, settings("dry", "a", `{k: "1"}`), "argo", false)
	r.admin.apply(t, settings("dry", "a", `{k: "2"}`), "flux", true)
	if diff := cmp.Diff([]string{"ConfigMap/dry/a: .data.k taken from argo by flux"}, r.admin.reported()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if hints := r.hints.of(u); len(hints) > 0 {
		t.Errorf("hints %+v", hints)
	}
}

// Edge case 9: the API server merges the oldest of more than ten updaters into one manager of its
// own. That is no takeover; a simultaneous takeover is reported on its own.
func TestMergedUpdatersAreNoTakeover(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	r.namespace(t, "ancient")
	u := r.admin.apply(t, settings("ancient", "a", `{k: "1"}`), "argo", false)
	for i := range 13 {
		r.admin.update(t, u, fmt.Sprint("updater-", i), func(o map[string]any) {
			o["data"].(map[string]any)[fmt.Sprint("k", i)] = "1"
		})
	}
	if reported := r.admin.reported(); reported != nil {
		t.Errorf("warned %q", reported)
	}
	u = r.admin.update(t, u, "updater-14", func(o map[string]any) {
		o["data"].(map[string]any)["k"] = "2"
	})
	if !strings.Contains(fmt.Sprint(u.GetManagedFields()), "ancient-changes") {
		t.Fatal("the oldest updaters were not merged")
	}
	if diff := cmp.Diff([]string{"ConfigMap/ancient/a: .data.k taken from argo by updater-14"}, r.admin.reported()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// A manager that applies fields that it updated before, or scales what it has applied, takes
// nothing from others (edge case 71: owners are not visible through /scale).
func TestSameManagerWithOtherOperation(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	r.namespace(t, "oneself")
	const web = `
metadata: {name: web, namespace: oneself}
spec:
  replicas: REPLICAS
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "registry.example/web:1"}]}`
	apply := func(manager, replicas string) {
		r.admin.apply(t, object("apps/v1", "Deployment", strings.ReplaceAll(web, "REPLICAS", replicas)), manager, false)
	}
	apply("kubectl", "1")
	kubectl(t, r.Cluster, "", "scale", "deployment/web", "-n", "oneself", "--replicas=2")
	apply("kubectl", "3")
	if reported := r.admin.reported(); reported != nil {
		t.Errorf("warned %q", reported)
	}
	kubectl(t, r.Cluster, "", "scale", "deployment/web", "-n", "oneself", "--replicas=4")
	apply("flux", "5")
	if diff := cmp.Diff([]string{"Deployment/oneself/web: .spec.replicas taken from kubectl (scale) by flux"}, r.admin.reported()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
