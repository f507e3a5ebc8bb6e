package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

type runtimeObject = runtime.Object

func set(m map[string]any, name string, v any, keep bool) {
	if keep {
		m[name] = v
	} else {
		delete(m, name)
	}
}

// leaves returns the scalars and the empty values below a value.
func leaves(places []place, path string, v any, put func(v any, keep bool)) []place {
	switch c := v.(type) {
	case map[string]any:
		for name, below := range c {
			places = leaves(places, path+"."+name, below, func(v any, keep bool) { set(c, name, v, keep) })
		}
		if len(c) > 0 {
			return places
		}
	case []any:
		for i, below := range c {
			places = leaves(places, fmt.Sprintf("%s[%d]", path, i), below, func(v any, _ bool) { c[i] = v })
		}
		if len(c) > 1 { // the list as a whole, to remove or move items
			places = append(places, place{path, v, put})
		}
		if len(c) > 0 {
			return places
		}
	}
	return append(places, place{path, v, put})
}

// other returns a different value in place of v, and whether there is one.
func other(r *rand.Rand, v any) (any, bool) {
	if r.IntN(12) == 0 {
		return []any{nil, map[string]any{}, []any{}, ""}[r.IntN(4)], true
	}
	switch v := v.(type) {
	case []any:
		return otherList(r, v)
	case string:
		if r.IntN(3) == 0 {
			return nil, false
		}
		return v + "x", true
	case int64:
		return v + 1, r.IntN(4) > 0
	case float64:
		return v + 1, r.IntN(4) > 0
	case bool:
		return !v, r.IntN(4) > 0
	}
	return nil, r.IntN(2) == 0
}

// otherList removes an item, adds one, or changes the order.
func otherList(r *rand.Rand, list []any) (any, bool) {
	if len(list) == 0 {
		return nil, false
	}
	list = slices.Clone(list)
	i := r.IntN(len(list))
	switch r.IntN(3) {
	case 0:
		return slices.Delete(list, i, i+1), true
	case 1:
		slices.Reverse(list)
		return list, true
	}
	item := runtime.DeepCopyJSONValue(list[i])
	if m, ok := item.(map[string]any); ok {
		m["name"] = fmt.Sprint("other-", r.IntN(3))
	}
	return slices.Insert(list, i, item), true
}

// cut removes random parts of a manifest, except those that identify the object or its list items.
func cut(r *rand.Rand, m map[string]any, path string) {
	for _, name := range sortedNames(m) {
		v := m[name]
		switch {
		case path == "" && (name == "apiVersion" || name == "kind"):
		case path == ".metadata" && (name == "name" || name == "namespace"):
		case name == "name" || name == "containerPort" || name == "port" || name == "protocol":
		case path+"."+name != ".metadata" && r.IntN(4) == 0:
			delete(m, name)
		default:
			if below, ok := v.(map[string]any); ok {
				cut(r, below, path+"."+name)
			}
			if list, ok := v.([]any); ok {
				for _, item := range list {
					if below, ok := item.(map[string]any); ok {
						cut(r, below, path+"."+name)
					}
				}
			}
		}
	}
}

func sortedNames(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
