package clienttest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// ConfigMaps returns the kind ConfigMap.
func ConfigMaps() object.Kind {
	return object.Kind{
		GVK:      schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		Resource: "configmaps", Namespaced: true, Verbs: []string{"get", "list", "watch", "patch"},
	}
}

// NewObject returns an object in the namespace prod.
func NewObject(kind object.Kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GVK)
	u.SetNamespace("prod")
	u.SetName(name)
	return u
}

// RefTo refers to an object in the namespace prod.
func RefTo(kind object.Kind, name string) object.Ref {
	return object.Ref{GVK: kind.GVK, Namespace: "prod", Name: name}
}

// Many is a number of objects of a namespace that the client reads with one list.
const Many = 10

// IgnoreLive ignores a live object.
func IgnoreLive(int, *unstructured.Unstructured, error) {}

// ManyRefs refers to the ConfigMaps w000, w001, …
func ManyRefs(n int) []object.Ref {
	refs := make([]object.Ref, n)
	for i := range refs {
		refs[i] = RefTo(ConfigMaps(), fmt.Sprintf("w%03d", i))
	}
	return refs
}

// Watched returns the kind ConfigMap, without the verb patch.
func Watched() object.Kind {
	return object.Kind{
		GVK: ConfigMaps().GVK, Resource: "configmaps", Namespaced: true, Verbs: []string{"get", "list", "watch"},
	}
}

// VersionOf returns a ConfigMap with a UID at a resource version.
func VersionOf(name, uid, at string) *unstructured.Unstructured {
	u := NewObject(Watched(), name)
	u.SetUID(types.UID(uid))
	u.SetResourceVersion(at)
	return u
}
