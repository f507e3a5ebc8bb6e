package diagnose

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// KindOf names a kind.
func KindOf(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// RefOf names an object.
func RefOf(apiVersion, kind, namespace, name string) object.Ref {
	return object.Ref{GVK: KindOf(apiVersion, kind), Namespace: namespace, Name: name}
}

// IsKind reports whether an object is of a kind, at any version.
func IsKind(u *unstructured.Unstructured, group, kind string) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Group: group, Kind: kind}
}

// As converts an object to its type. It is false if there is no object, or if it has
// another shape because some other API has taken the name.
func As[T any](u *unstructured.Unstructured) (T, bool) {
	var typed T
	if u == nil {
		return typed, false
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &typed)
	return typed, err == nil
}

// All is [As] for many objects; those of another shape are left out.
func All[T any](objects []*unstructured.Unstructured) []T {
	var typed []T
	for _, u := range objects {
		if t, ok := As[T](u); ok {
			typed = append(typed, t)
		}
	}
	return typed
}

// Text reads a string field; empty if there is none.
func Text(u *unstructured.Unstructured, path ...string) string {
	if u == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// Items reads a list of maps; other items are left out.
func Items(u *unstructured.Unstructured, path ...string) []map[string]any {
	if u == nil {
		return nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	list, _ := value.([]any)
	var maps []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}
