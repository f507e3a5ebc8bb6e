package property_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// asGoType normalises spec.typed like a built-in kind, which the API server stores as a Go type:
// quantities are canonical, and zero, null or empty values are dropped. It runs after the field
// manager.
func asGoType(object map[string]any) {
	typed, ok, _ := unstructured.NestedMap(object, "spec", "typed")
	if !ok {
		return
	}
	canonical(typed, "quantity")
	if limits, ok := typed["limits"].(map[string]any); ok {
		for name := range limits {
			canonical(limits, name)
		}
	}
	for name, v := range typed {
		empty := v == nil || v == int64(0)
		switch v := v.(type) {
		case map[string]any:
			empty = len(v) == 0
		case []any:
			empty = len(v) == 0
		}
		if empty {
			delete(typed, name)
		}
	}
	_ = unstructured.SetNestedMap(object, typed, "spec", "typed") // spec is a map, since it contains typed
}

func canonical(m map[string]any, name string) {
	v, ok := m[name]
	if !ok || v == nil {
		return
	}
	if q, err := resource.ParseQuantity(fmt.Sprint(v)); err == nil {
		m[name] = q.String()
	}
}
