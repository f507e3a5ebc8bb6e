package diagnose

import (
	"slices"

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

// IsKind reports whether an object is of a kind, at whatever version.
func IsKind(u *unstructured.Unstructured, group, kind string) bool {
	return u.GroupVersionKind().GroupKind() == schema.GroupKind{Group: group, Kind: kind}
}

// As reads an object into its type; false where there is none, or one of another
// shape: some other API has taken the name.
func As[T any](u *unstructured.Unstructured) (T, bool) {
	var typed T
	if u == nil {
		return typed, false
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &typed)
	return typed, err == nil
}

// All is As for many; what has another shape is left out.
func All[T any](objects []*unstructured.Unstructured) []T {
	var typed []T
	for _, u := range objects {
		if t, ok := As[T](u); ok {
			typed = append(typed, t)
		}
	}
	return typed
}

// Text reads a text; empty where there is none.
func Text(u *unstructured.Unstructured, path ...string) string {
	if u == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// Items reads a list of maps; what is none is left out.
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

// Condition is one of .status.conditions, in whatever kind.
type Condition struct {
	Type, Status, Reason, Message string
	// ObservedGeneration is 0 where the condition does not say.
	ObservedGeneration int64
}

// Conditions reads the conditions of an object, as far as they look like some.
func Conditions(u *unstructured.Unstructured) []Condition {
	var out []Condition
	for _, m := range Items(u, "status", "conditions") {
		text := func(field string) string { s, _ := m[field].(string); return s }
		c := Condition{Type: text("type"), Status: text("status"), Reason: text("reason"), Message: text("message")}
		c.ObservedGeneration, _ = object.WholeNumber(m["observedGeneration"])
		if c.Type != "" {
			out = append(out, c)
		}
	}
	return out
}

// ConditionOf returns the condition of a type; an empty one where there is none.
func ConditionOf(u *unstructured.Unstructured, kind string) Condition {
	all := Conditions(u)
	if i := slices.IndexFunc(all, func(c Condition) bool { return c.Type == kind }); i >= 0 {
		return all[i]
	}
	return Condition{}
}
