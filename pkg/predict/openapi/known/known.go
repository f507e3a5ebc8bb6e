package known

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/builtin"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi/defined"
)

// Kinds are those of Kubernetes itself, and those whose definitions a run has read. They may
// be used by several goroutines at once.
type Kinds struct {
	builtin builtin.Types
	mu      sync.Mutex
	// defined has the kinds that are of interest, with their types once they are defined.
	defined map[schema.GroupVersionKind]openapi.Type
}

// Among returns what will know the given kinds and those of Kubernetes itself. Definitions of
// others are not kept.
func Among(kinds []schema.GroupVersionKind) *Kinds {
	k := &Kinds{defined: map[schema.GroupVersionKind]openapi.Type{}}
	for _, gvk := range kinds {
		k.defined[gvk] = nil
	}
	return k
}

// Of returns the type of a kind, nil as long as nothing is known of it.
func (k *Kinds) Of(kind object.Kind) openapi.Type {
	k.mu.Lock()
	known, ok := k.defined[kind.GVK]
	k.mu.Unlock()
	if ok {
		return known
	}
	return k.builtin.Of(kind.GVK)
}

// Define tells of a definition that is live, and that the run leaves as it is.
func (k *Kinds) Define(definition *unstructured.Unstructured) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for gvk, known := range defined.Of(definition) {
		if _, asked := k.defined[gvk]; asked {
			k.defined[gvk] = known
		}
	}
}
