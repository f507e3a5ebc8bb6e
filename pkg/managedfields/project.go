package managedfields

import "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

// Project returns what of an object a field set holds. Atomic values come
// whole; lists keep the order of the object; of a list item the fields of its
// key come along, so that it can be told from the others. A key that the object
// leaves to the server's defaults is recognised where no other item can be
// meant. Projecting twice is projecting once.
//
// The result has maps and lists of its own on the way to what is held, and
// shares the rest with the object: do not change it in place.
func Project(object map[string]any, set *Set) map[string]any {
	out, _ := projectMap(object, set)
	return out
}

// project cuts a value down to what lies below it in the set. It tells whether
// anything of it is held.
func project(v any, set *Set) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return projectMap(v, set)
	case []any:
		return projectList(v, set)
	}
	return nil, false
}

func projectMap(m map[string]any, set *Set) (map[string]any, bool) {
	out := make(map[string]any)
	for name, v := range m {
		pe := fieldpath.PathElement{FieldName: &name}
		if cut, held := projectChild(v, pe, set); held {
			out[name] = cut
		}
	}
	return out, len(out) > 0
}

// projectChild cuts down the value at one element of a set.
func projectChild(v any, pe fieldpath.PathElement, set *Set) (any, bool) {
	member := set.Members.Has(pe)
	below, ok := set.Children.Get(pe)
	if !ok || below.Empty() {
		return v, member
	}
	if !isContainer(v) {
		return v, member
	}
	cut, held := project(v, below)
	return cut, held || member
}

func projectList(list []any, set *Set) ([]any, bool) {
	if shapeOf(set) == odd {
		return list, true // Positions mean nothing once an item is left out.
	}
	els := elements(set)
	names := keyNames(els)
	out := make([]any, 0, len(list))
	for _, item := range list {
		pe, ok := heldElement(item, list, els, names, set)
		if !ok {
			continue
		}
		cut, held := projectChild(item, pe, set)
		if !held {
			continue
		}
		out = append(out, withKey(cut, item, pe))
	}
	return out, len(out) > 0
}

// heldElement returns the element under which a set speaks of a list item.
func heldElement(item any, list []any, els []fieldpath.PathElement, names []string, set *Set) (fieldpath.PathElement, bool) {
	pe, complete, ok := elementOf(item, names)
	if !ok {
		return pe, false
	}
	if _, below := set.Children.Get(pe); below || set.Members.Has(pe) {
		return pe, true
	}
	if complete {
		return pe, false
	}
	return defaulted(item, list, els, names)
}

// defaulted returns the element of an item that leaves part of its key to the
// server, if there is one only, and no other item of the list claims it.
func defaulted(item any, list []any, els []fieldpath.PathElement, names []string) (fieldpath.PathElement, bool) {
	var found fieldpath.PathElement
	n := 0
	for _, pe := range els {
		if matchItem(item, pe, names).isPossible() && !claimed(list, pe, names) {
			found = pe
			n++
		}
	}
	return found, n == 1
}

// claimed tells whether an item of the list fits the element exactly.
func claimed(list []any, pe fieldpath.PathElement, names []string) bool {
	for _, item := range list {
		if matchItem(item, pe, names) == exactMatch {
			return true
		}
	}
	return false
}

// withKey adds the fields of the item's key to what was cut out of it.
func withKey(cut, item any, pe fieldpath.PathElement) any {
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
