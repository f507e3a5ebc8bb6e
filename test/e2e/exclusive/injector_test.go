package exclusive_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	yamltext "sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// injected is what the webhook adds to a Pod template, as the injectors of Istio and Vault do: containers, a
// volume with its mount, annotations, a label.
var injected = []string{
	`.spec.template.metadata.annotations["sidecar.example.com/status"]`, `.spec.template.metadata.labels["security.example.com/mode"]`,
	`.spec.template.spec.containers[name="proxy"]`, `.spec.template.spec.initContainers[name="init"]`,
	`.spec.template.spec.volumes[name="secrets"]`, `.spec.template.spec.containers[name="app"].volumeMounts[mountPath="/secrets"]`,
	`.spec.template.spec.securityContext.fsGroup`,
}

// inject adds to a Deployment what is missing.
func inject(o map[string]any) {
	merge(o, in(object{
		"metadata": object{"annotations": object{"sidecar.example.com/status": "injected"}, "labels": object{"security.example.com/mode": "mtls"}},
		"spec": object{
			"containers": []any{
				object{"name": "proxy", "image": "registry.example/proxy:1"},
				object{"name": "app", "volumeMounts": []any{object{"mountPath": "/secrets", "name": "secrets"}}},
			},
			"initContainers":  []any{object{"name": "init", "image": "registry.example/init:1"}},
			"volumes":         []any{object{"name": "secrets", "emptyDir": object{"medium": "Memory"}}},
			"securityContext": object{"fsGroup": 1337},
		},
	}, "spec", "template"))
}

// A real mutating webhook injects into each write. As long as it does, diff --exclusive shows nothing of it,
// and apply --exclusive removes only what a person has added. Once it is gone, whatever it has left behind
// and a client owns is a difference. A value without an owner stays.
func TestInjector(t *testing.T) {
	c := shared.Cluster(t)
	a := newAPI(t, c)
	const namespace = "injected"
	if err := c.CreateNamespace(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.DeleteNamespace(namespace) })
	uninstall := installInjector(t, a, namespace)
	j := &judge{t: t, c: c, a: a, batch: "injector"}

	sample := documents(t, samples)[0]
	paths := map[string]string{}
	for _, name := range []string{"applied", "restored"} {
		paths[name] = filepath.Join(t.TempDir(), name+".yaml")
		content, err := yamltext.Marshal(named(sample, namespace, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(paths[name], content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(verb, name string) result {
		t.Helper()
		return j.plugin(verb, "-f", paths[name], "--exclusive", "-o", "json")[name]
	}
	changed := func(r result) []string {
		var out []string
		for _, c := range append(slices.Clone(r.Changes), r.Removed...) {
			out = append(out, c.Path)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	has := func(name string) (found []string, isEdited bool) {
		t.Helper()
		flat := map[string]string{}
		o, err := a.do(t, http.MethodGet, at(sample, namespace, name), "", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		flatten(flat, "", "", o)
		for _, path := range injected {
			for leaf := range flat {
				if touches(leaf, path) && len(leaf) >= len(path) {
					found = append(found, path)
					break
				}
			}
		}
		return found, flat[".spec.template.spec.hostNetwork"] == "true"
	}
	edit := func(name string) {
		t.Helper()
		part := in(true, "spec", "template", "spec", "hostNetwork")
		if _, err := a.do(t, http.MethodPatch, at(sample, namespace, name), "application/strategic-merge-patch+json", "kubectl-edit", part); err != nil {
			t.Fatal(err)
		}
	}

	// One is applied. The other one was exported with all that was injected, and restored: its creator owns
	// that.
	if r := run("apply", "applied"); r.Action != "created" {
		t.Fatalf("apply: %s", indented(r))
	}
	exported := named(sample, namespace, "restored")
	inject(exported)
	if _, err := a.do(t, http.MethodPost, at(sample, namespace), asJSON, "kubectl-create", exported); err != nil {
		t.Fatal(err)
	}
	if r := run("apply", "restored"); j.failed(r) {
		t.Fatalf("apply: %s", indented(r))
	}
	for name := range paths {
		if r := run("diff", name); r.Action != "unchanged" || len(r.Warnings) > 0 {
			t.Errorf("%s, while the webhook injects: diff %s", name, indented(r))
		}
		edit(name)
		for _, verb := range []string{"diff", "apply"} {
			if r := run(verb, name); !slices.Equal(changed(r), []string{".spec.template.spec.hostNetwork"}) || len(r.Warnings) > 0 {
				t.Errorf("%s, edited while the webhook injects: %s %s", name, verb, indented(r))
			}
		}
		if found, isEdited := has(name); !slices.Equal(found, injected) || isEdited {
			t.Errorf("%s: after the apply, hostNetwork is %t, and of the injected values, these are left: %q", name, isEdited, found)
		}
		if r := run("apply", name); r.Action != "unchanged" {
			t.Errorf("%s: a second apply %s", name, indented(r))
		}
	}

	uninstall()
	if r := run("diff", "applied"); r.Action != "unchanged" {
		t.Errorf("applied: values without an owner are a difference: %s", indented(r))
	}
	r := run("diff", "restored")
	for _, path := range injected {
		if !slices.ContainsFunc(changed(r), func(p string) bool { return touches(p, path) }) {
			t.Errorf("the webhook is gone, and diff does not name %s: %s", path, indented(r))
		}
	}
	if r := run("apply", "restored"); j.failed(r) {
		t.Errorf("apply: %s", indented(r))
	}
	if found, _ := has("restored"); len(found) > 0 {
		t.Errorf("injected values are left: %q", found)
	}
	if r := run("diff", "restored"); r.Action != "unchanged" {
		t.Errorf("a last diff: %s", indented(r))
	}
}

// installInjector registers a webhook for the Deployments of a namespace. It returns the function that removes
// it.
func installInjector(t *testing.T, a *api, namespace string) (uninstall func()) {
	t.Helper()
	w := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		var review struct {
			Request struct {
				UID    string
				Object map[string]any
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		inject(review.Request.Object)
		patch, err := json.Marshal([]any{object{"op": "replace", "path": "/spec", "value": review.Request.Object["spec"]}})
		if err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(out).Encode(object{
			"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": object{"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": patch},
		})
	}))
	t.Cleanup(w.Close)
	const path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	hook := object{
		"name": "inject.example.com", "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "reinvocationPolicy": "IfNeeded",
		"clientConfig": object{"url": w.URL, "caBundle": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})},
		"rules": []any{object{
			"apiGroups": []any{"apps"}, "apiVersions": []any{"v1"}, "resources": []any{"deployments"}, "operations": []any{"CREATE", "UPDATE"},
		}},
		"namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": namespace}},
	}
	if _, err := a.do(t, http.MethodPost, path, asJSON, "setup", object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
		"metadata": object{"name": namespace}, "webhooks": []any{hook},
	}); err != nil {
		t.Fatal(err)
	}
	// The API server notices a webhook, and its end, a moment later.
	probe := documents(t, samples)[1]
	until := func(when string, injects bool) {
		t.Helper()
		name := "probe-" + when
		if !cluster.Until(time.Minute, func() bool {
			_, _ = a.do(t, http.MethodDelete, at(probe, namespace, name), "", "", nil)
			answer, err := a.do(t, http.MethodPost, at(probe, namespace), asJSON, "setup", named(probe, namespace, name))
			return err == nil && strings.Contains(text(answer), "proxy") == injects
		}) {
			t.Fatalf("the webhook is not %s", when)
		}
	}
	remove := func() { _, _ = a.do(t, http.MethodDelete, path+"/"+namespace, "", "", nil) }
	t.Cleanup(func() {
		if t.Context().Err() == nil {
			remove()
		}
	})
	until("called", true)
	return func() {
		remove()
		until("gone", false)
	}
}
