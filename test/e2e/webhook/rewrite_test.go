package webhook_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
)

// Edge case 15: a mutating webhook restores a value that was changed by force. The owner changes
// but not the value, so nothing was taken.
func TestWebhookRestoresValue(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	r.namespace(t, "rewritten")
	r.admin.apply(t, settings("rewritten", "a", `{k: "1"}`), "argo", false)
	called := &atomic.Bool{}
	r.keepOne(t, called)
	eventually(t, "the other webhook is called", func() bool {
		r.admin.apply(t, settings("rewritten", "probe", `{k: "2"}`), "setup", false)
		return called.Load()
	})
	r.admin.reported()
	u := r.admin.apply(t, settings("rewritten", "a", `{k: "2"}`), "flux", false)
	if k, _, _ := unstructured.NestedString(u.Object, "data", "k"); k != "1" {
		t.Fatalf("k is %q, want 1", k)
	}
	if reported := r.admin.reported(); reported != nil {
		t.Errorf("warned %q", reported)
	}
	r.admin.apply(t, settings("rewritten", "a", `{k: "1", l: "1"}`), "argo", false)
	r.admin.apply(t, settings("rewritten", "a", `{k: "1", l: "2"}`), "flux", false)
	if diff := cmp.Diff([]string{"ConfigMap/rewritten/a: .data.l taken from argo by flux"}, r.admin.reported()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// keepOne installs a mutating webhook that sets k to 1 in a namespace's ConfigMaps.
func (r *running) keepOne(t *testing.T, called *atomic.Bool) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		called.Store(true)
		var review struct{ Request struct{ UID string } }
		if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": map[string]any{
				"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch",
				"patch": []byte(`[{"op":"replace","path":"/data/k","value":"1"}]`),
			},
		})
	}))
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	u := object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", `
metadata: {name: keep-one}
webhooks:
- name: keep-one.example.com
  sideEffects: None
  failurePolicy: Ignore
  admissionReviewVersions: [v1]
  rules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: rewritten}}`)
	webhooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	client, err := json.Marshal(map[string]any{"url": server.URL, "caBundle": ca})
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(client, &config); err != nil {
		t.Fatal(err)
	}
	webhooks[0].(map[string]any)["clientConfig"] = config
	u.Object["webhooks"] = webhooks
	r.admin.apply(t, u, "setup", false)
}
