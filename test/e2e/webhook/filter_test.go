package webhook_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook"
)

// If no owner's fields change, the API server does not call the webhook.
func TestUpdateBySameOwnerCallsNoWebhook(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	r.namespace(t, "same")
	u := r.admin.apply(t, settings("same", "a", `{k: "0"}`), "flux", false)
	calls := r.calls(t, "ownership")
	for i := range 100 {
		r.admin.apply(t, settings("same", "a", fmt.Sprintf(`{k: "%d"}`, i+1)), "flux", false)
	}
	if n := r.calls(t, "ownership") - calls; n != 0 {
		t.Errorf("%d calls for updates by the same owner, want none", n)
	}
	r.admin.update(t, u, "helm", func(o map[string]any) { o["data"].(map[string]any)["k"] = "x" })
	if n := r.calls(t, "ownership") - calls; n != 1 {
		t.Errorf("%d calls for a takeover, want 1", n)
	}
}

// Edge case 78: the webhook is never called for writes that a control plane depends on.
func TestControlPlaneWritesNeverMatch(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{})
	r.namespace(t, "never")
	calls := r.calls(t, "ownership") + r.calls(t, "deprecation")
	for i, manager := range []string{"one", "other"} {
		text := fmt.Sprint(i)
		r.admin.apply(t, object("coordination.k8s.io/v1", "Lease", `{metadata: {name: a, namespace: never}, spec: {holderIdentity: "`+text+`"}}`), manager, false)
		r.admin.apply(t, object("v1", "Event", `{metadata: {name: a, namespace: never}, message: "`+text+`",
			involvedObject: {kind: Pod, name: a, namespace: never}}`), manager, false)
		r.admin.apply(t, object("v1", "Endpoints", `{metadata: {name: a, namespace: never, labels: {a: "`+text+`"}}}`), manager, false)
		r.admin.apply(t, object("discovery.k8s.io/v1", "EndpointSlice", `{metadata: {name: a, namespace: never, labels: {a: "`+text+`"}},
			addressType: IPv4, endpoints: []}`), manager, false)
		for _, namespace := range []string{"kube-system", "kube-node-lease", systemNamespace} {
			r.admin.apply(t, settings(namespace, "never", `{k: "`+text+`"}`), manager, false)
		}
	}
	kubectl(t, r.Cluster, "", "auth", "can-i", "get", "pods")
	if n := r.calls(t, "ownership") + r.calls(t, "deprecation") - calls; n != 0 {
		t.Errorf("%d calls", n)
	}
}

// Edge case 76: objects with generated names, and deletions of one object or all.
func TestGeneratedNamesAndDeletions(t *testing.T) {
	r := start(t, shared.Cluster(t), webhook.Parts{Deprecations: allOld{}})
	r.namespace(t, "nameless")
	u := object("v1", "ConfigMap", `{metadata: {generateName: web-, namespace: nameless}, data: {k: "1"}}`)
	door, err := r.admin.door(u)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if u, err = door.Create(t.Context(), object("v1", "ConfigMap", `{metadata: {generateName: web-, namespace: nameless}, data: {k: "1"}}`), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		// The name is generated before validating webhooks are called.
		name := "ConfigMap/nameless/" + u.GetName()
		if diff := cmp.Diff([]string{name + ": all is old", name + ": .data is deprecated"}, r.admin.reported()); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
	}
	if err := door.Delete(t.Context(), u.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if err := door.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	left, err := door.List(t.Context(), metav1.ListOptions{LabelSelector: "!x"})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("%d objects are left, %v", len(left.Items), err)
	}
	if reported := r.admin.reported(); reported != nil {
		t.Errorf("deletions caused warnings %q", reported)
	}
}
