package condition

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition/cel"
)

// named is what names an object and its version.
func named() [][]string {
	return [][]string{
		{"apiVersion"},
		{"kind"},
		{"metadata", "name"},
		{"metadata", "namespace"},
		{"metadata", "uid"},
		{"metadata", "resourceVersion"},
		{"metadata", "generation"},
		{"metadata", "deletionTimestamp"},
	}
}

// Trim returns a copy of the object that holds no more than the conditions read, and what names its
// version: they say of it what they say of the object itself. Its contents are shared with obj, and
// it is obj where a condition reads all of it.
func Trim(obj map[string]any, conds ...*Condition) map[string]any {
	if obj == nil {
		return nil // And not an object that is empty: that one exists.
	}
	total := cel.Reads{Paths: named()}
	for _, c := range conds {
		r := c.how.reads()
		if r.All {
			return obj
		}
		total.Paths, total.SpecTimes = slices.Concat(total.Paths, r.Paths), total.SpecTimes || r.SpecTimes
	}
	out, _ := total.Of(obj).(map[string]any)
	if m, ok := out["metadata"].(map[string]any); ok && total.SpecTimes {
		m["managedFields"] = specTimesOf(obj)
	}
	return out
}

// specTimesOf returns managed fields without fields: what is left is when each
// owner wrote, and whether it was the spec.
func specTimesOf(obj map[string]any) []any {
	var out []any
	entries, _ := cel.Meta(obj)["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		fields, _ := entry["fieldsV1"].(map[string]any)
		if _, spec := fields["f:spec"]; spec {
			out = append(out, map[string]any{"time": entry["time"], "fieldsV1": map[string]any{"f:spec": map[string]any{}}})
		}
	}
	return out
}
