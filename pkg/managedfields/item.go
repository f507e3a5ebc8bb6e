package managedfields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// shape is what the elements right below a path tell of the value there.
type shape int

const (
	// leaf: nothing below. An atomic value, a scalar, or what was empty or null
	// when its owner wrote it.
	leaf shape = iota
	fields
	keyed
	values
	// odd: list positions, or elements of several sorts. No API server writes it.
	odd
)

// shapeOf reads the shape off the sets of paths below one path; nil is none.
func shapeOf(sets ...*Set) shape {
	result := leaf
	see := func(pe fieldpath.PathElement) {
		s := odd
		switch {
		case pe.FieldName != nil:
			s = fields
		case pe.Key != nil:
			s = keyed
		case pe.Value != nil:
			s = values
		}
		if result == leaf {
			result = s
		} else if result != s {
			result = odd
		}
	}
	for _, set := range sets {
		if set != nil {
			set.Members.Iterate(see)
			set.Children.Iterate(see)
		}
	}
	return result
}

// elements returns the elements right below a path, sorted, each once.
func elements(sets ...*Set) []fieldpath.PathElement {
	var out []fieldpath.PathElement
	for _, set := range sets {
		if set == nil {
			continue
		}
		members := make([]fieldpath.PathElement, 0, set.Members.Size())
		set.Members.Iterate(func(pe fieldpath.PathElement) { members = append(members, pe) })
		var parents []fieldpath.PathElement
		set.Children.Iterate(func(pe fieldpath.PathElement) { parents = append(parents, pe) })
		out = merge(out, merge(members, parents))
	}
	return out
}

// merge merges two sorted lists of elements. To compare keys is what takes time
// with sets, so it is done as seldom as can be.
func merge(a, b []fieldpath.PathElement) []fieldpath.PathElement {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := make([]fieldpath.PathElement, 0, max(len(a), len(b)))
	for len(a) > 0 && len(b) > 0 {
		switch order := a[0].Compare(b[0]); {
		case order < 0:
			out, a = append(out, a[0]), a[1:]
		case order > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// keyNames returns the names of the fields that make up the keys of a list. A
// key may lack a name: the item had no such field, and there is no default.
func keyNames(elements []fieldpath.PathElement) []string {
	var names []string
	for _, pe := range elements {
		if pe.Key == nil {
			continue
		}
		for _, f := range *pe.Key {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// elementOf returns the element of a list item as far as the item says it, and
// whether it says all of the key. An item that says nothing of it, since all of its
// key is default, has an element without a key. Without names there is no element.
func elementOf(item any, names []string) (pe fieldpath.PathElement, complete, ok bool) {
	m, isMap := item.(map[string]any)
	if !isMap {
		if item == nil || isContainer(item) {
			return pe, false, false
		}
		return fieldpath.ValueElement(value.NewValueInterface(item)), true, true
	}
	key := make(value.FieldList, 0, len(names))
	for _, name := range names {
		if v, has := m[name]; has {
			key = append(key, value.Field{Name: name, Value: value.NewValueInterface(v)})
		}
	}
	return fieldpath.PathElement{Key: &key}, len(key) == len(names), len(names) > 0
}

// match says how well a list item fits an element.
type match int

const (
	noMatch match = iota
	// bareMatch: the item says nothing of the key, and the server's defaults may be
	// all of it (edge case 88).
	bareMatch
	// mayMatch: all that the item says of the key fits, and the server's default
	// may supply the rest (edge case 3).
	mayMatch
	exactMatch
)

// matchItem compares a list item with an element; names are those of the keys
// of the whole list.
func matchItem(item any, pe fieldpath.PathElement, names []string) match {
	if pe.Value != nil {
		if item == nil || isContainer(item) || !equal(item, (*pe.Value).Unstructured()) {
			return noMatch
		}
		return exactMatch
	}
	m, isMap := item.(map[string]any)
	if !isMap || pe.Key == nil || len(*pe.Key) == 0 {
		return noMatch
	}
	result, said := exactMatch, 0
	for _, name := range names {
		want, inKey := keyField(pe, name)
		got, inItem := m[name]
		switch {
		case inKey && inItem:
			if !equal(got, want) {
				return noMatch
			}
			said++
		case inItem:
			return noMatch
		case inKey:
			result = mayMatch
		}
	}
	if said == 0 && result == mayMatch {
		return bareMatch
	}
	if said == 0 {
		return noMatch
	}
	return result
}

// isPossible reports whether the server's defaults may complete an item to an
// element.
func (m match) isPossible() bool { return m == bareMatch || m == mayMatch }

func keyField(pe fieldpath.PathElement, name string) (any, bool) {
	for _, f := range *pe.Key {
		if f.Name == name {
			return f.Value.Unstructured(), true
		}
	}
	return nil, false
}

// findItem returns the position of the one item that an element names, or -1.
// An item that matches exactly goes before those that may match, and these before
// those that say nothing; of either there must be only one.
func findItem(list []any, pe fieldpath.PathElement, names []string) int {
	best, at, several := noMatch, -1, false
	for i, item := range list {
		m := matchItem(item, pe, names)
		switch {
		case m == exactMatch:
			return i
		case m > best:
			best, at, several = m, i, false
		case m != noMatch && m == best:
			several = true
		}
	}
	if several {
		return -1
	}
	return at
}

// find returns the position of the value at one element of a path, in a list of
// which nothing is known but that element.
func find(list []any, pe fieldpath.PathElement) int {
	switch {
	case pe.Index != nil:
		if i := *pe.Index; i >= 0 && i < len(list) {
			return i
		}
		return -1
	case pe.Key != nil || pe.Value != nil:
		return findItem(list, pe, keyNames([]fieldpath.PathElement{pe}))
	}
	return -1
}

// Get returns the value at the path in an object, and whether there is one. A
// list item that leaves part of its key to the server's defaults is found where
// no other item can be meant.
func (p Path) Get(object map[string]any) (any, bool) { return p.get(object, find) }

func (p Path) get(object map[string]any, find func([]any, fieldpath.PathElement) int) (any, bool) {
	var v any = object
	for _, pe := range p {
		switch c := v.(type) {
		case map[string]any:
			if pe.FieldName == nil {
				return nil, false
			}
			var ok bool
			if v, ok = c[*pe.FieldName]; !ok {
				return nil, false
			}
		case []any:
			i := find(c, pe)
			if i < 0 {
				return nil, false
			}
			v = c[i]
		default:
			return nil, false
		}
	}
	return v, true
}
