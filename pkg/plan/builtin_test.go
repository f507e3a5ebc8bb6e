package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// What is known of built-in kinds without a server is what an API server says of them.
func TestBuiltinKinds(t *testing.T) {
	for gvk, want := range builtIn(t) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		got, known := plan.BuiltinKinds([]object.Manifest{{Object: u}})[gvk]
		if !known || got.GVK != gvk || got.Namespaced != want.Namespaced {
			t.Errorf("%s: known %v, namespaced %v, want %v", gvk, known, got.Namespaced, want.Namespaced)
		}
	}
	if got := plan.BuiltinKinds(manifests(t, shorts("example.com/v1 Widget w", "gateway.networking.k8s.io/v1 Gateway g"))); len(got) > 0 {
		t.Errorf("kinds of others: %v", got)
	}
}
