package managedfields

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Project returns the part of an object that is in a field set. Atomic values are included whole,
// and lists keep the order of the object. List items keep their key fields. If an item omits part
// of its key, which the server then defaults, Project identifies the item only if exactly one
// element of the set fits and belongs to no other item. Project is idempotent.
//
// The result shares values with the object: do not change it in place.
func Project(object map[string]any, set *fieldpath.Set) map[string]any {
	out, _ := projectMap(object, set)
	return out
}

func project(v any, set *fieldpath.Set) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return projectMap(v, set)
	case []any:
		return projectList(v, set)
	}
	return nil, false
}

func projectMap(m map[string]any, set *fieldpath.Set) (map[string]any, bool) {
	out := make(map[string]any)
	for name, v := range m {
		pe := fieldpath.Element{FieldName: &name}
		if cut, held := projectChild(v, pe, set); held {
			out[name] = cut
		}
	}
	return out, len(out) > 0
}

func projectChild(v any, pe fieldpath.Element, set *fieldpath.Set) (any, bool) {
	member := set.Members.Has(pe)
	below, ok := fieldpath.Below(set, pe)
	if !ok || !fieldpath.IsContainer(v) {
		return v, member
	}
	cut, held := project(v, below)
	return cut, held || member
}

func projectList(list []any, set *fieldpath.Set) ([]any, bool) {
	if fieldpath.ShapeOf(set) == fieldpath.Odd {
		return list, true // Positions are useless once an item is missing.
	}
	x := fieldpath.ItemsOf(set)
	out := make([]any, 0, len(list))
	for _, item := range list {
		pe, ok := x.Held(item, list)
		if !ok {
			continue
		}
		if cut, held := ProjectItem(item, pe, set); held {
			out = append(out, cut)
		}
	}
	return out, len(out) > 0
}

// ProjectItem returns the part of a list item that is in a set, with the item's key fields. It
// returns false if that part is empty. pe is the item's element in the set.
func ProjectItem(item any, pe fieldpath.Element, set *fieldpath.Set) (any, bool) {
	cut, held := projectChild(item, pe, set)
	if !held {
		return nil, false
	}
	return withKey(cut, item, pe), true
}

func withKey(cut, item any, pe fieldpath.Element) any {
	m, ok := cut.(map[string]any)
	whole, isMap := item.(map[string]any)
	if !ok || !isMap || pe.Key == nil {
		return cut
	}
	for _, f := range *pe.Key {
		v, has := whole[f.Name]
		if _, kept := m[f.Name]; has && !kept {
			m[f.Name] = v
		}
	}
	return m
}
