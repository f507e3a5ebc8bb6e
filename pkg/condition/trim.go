package condition

import (
	"maps"
	"slices"
)

// reads is what a condition reads of an object, beside what names its version.
type reads struct {
	// all: everything but managed fields.
	all bool
	// paths are names of fields from the root, each with all below it.
	paths [][]string
}

// named is what names an object and its version.
var named = [][]string{
	{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}, {"metadata", "uid"},
	{"metadata", "resourceVersion"}, {"metadata", "generation"}, {"metadata", "deletionTimestamp"},
}

// Trim returns a copy of the object that holds no more than the conditions read,
// and what names its version: they judge it like the object itself. What it holds
// is shared with obj.
func Trim(obj map[string]any, conds ...*Condition) map[string]any {
	paths := named
	for _, c := range conds {
		r := c.judge.reads()
		if r.all {
			return withoutManagedFields(obj)
		}
		paths = slices.Concat(paths, r.paths)
	}
	out := map[string]any{}
	for _, path := range outermost(paths) {
		keep(out, obj, path)
	}
	return out
}

// keep copies what is at the path, as far as the object has it. No path may be
// above another one that was kept before.
func keep(out, obj map[string]any, path []string) {
	v, ok := obj[path[0]]
	if !ok {
		return
	}
	below, isMap := v.(map[string]any)
	if len(path) == 1 || !isMap {
		out[path[0]] = v
		return
	}
	inner, ok := out[path[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		out[path[0]] = inner
	}
	keep(inner, below, path[1:])
}

func withoutManagedFields(obj map[string]any) map[string]any {
	out := maps.Clone(obj)
	if meta, ok := obj["metadata"].(map[string]any); ok {
		inner := maps.Clone(meta)
		delete(inner, "managedFields")
		out["metadata"] = inner
	}
	return out
}

// outermost returns the paths without those that are below another.
func outermost(paths [][]string) [][]string {
	var out [][]string
	for _, p := range paths {
		covered := slices.ContainsFunc(paths, func(q []string) bool { return len(q) < len(p) && slices.Equal(q, p[:len(q)]) })
		known := slices.ContainsFunc(out, func(q []string) bool { return slices.Equal(q, p) })
		if !covered && !known {
			out = append(out, p)
		}
	}
	return out
}
