package predict

import (
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Same tells whether two answers about one object have the same content and the
// same owners. When somebody touched a field is neither.
func Same(a, b *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(content(a), content(b)) && managedfields.SameOwners(a, b)
}

// content returns an object without what the server counts and keeps for itself.
func content(u *unstructured.Unstructured) map[string]any {
	out := maps.Clone(u.Object)
	meta, ok := out["metadata"].(map[string]any)
	if !ok {
		return out
	}
	meta = maps.Clone(meta)
	for _, own := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(meta, own)
	}
	out["metadata"] = meta
	return out
}
