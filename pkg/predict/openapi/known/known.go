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
	// defined has the kinds that are of interest, and their definitions once they are known.
	defined map[schema.GroupVersionKind]definition
}

type definition struct {
	name  string
	types openapi.Type
}

// Among returns what will know the given kinds and those of Kubernetes itself. Definitions of
// others are not kept.
func Among(kinds []schema.GroupVersionKind) *Kinds {
	k := &Kinds{defined: map[schema.GroupVersionKind]definition{}}
	for _, gvk := range kinds {
		k.defined[gvk] = definition{}
	}
	return k
}

// Of returns the type of a kind, nil as long as nothing is known of it. Of two definitions of
// one kind, the server follows the one whose resource it serves.
func (k *Kinds) Of(kind object.Kind) openapi.Type {
	k.mu.Lock()
	known, custom := k.defined[kind.GVK]
	k.mu.Unlock()
	switch {
	case !custom:
		return k.builtin.Of(kind.GVK)
	case known.name != kind.Resource+"."+kind.GVK.Group:
		return nil
	default:
		return known.types
	}
}

// Define tells of a definition that is live, and that the run leaves as it is.
func (k *Kinds) Define(live *unstructured.Unstructured) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for gvk, types := range defined.Of(live) {
		if _, asked := k.defined[gvk]; asked {
			k.defined[gvk] = definition{live.GetName(), types}
		}
	}
}
