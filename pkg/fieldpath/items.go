package fieldpath

import (
	"slices"

	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Items matches the items of one list against the elements of field sets.
type Items struct {
	elements []Element // sorted
	names    []string
}

// ItemsOf returns the Items of a list whose elements are in the given sets. A nil set is empty.
func ItemsOf(sets ...*Set) Items {
	els := Elements(sets...)
	return Items{elements: els, names: keyNames(els)}
}

// ItemsNamed returns the Items of a list of which only one element is known.
func ItemsNamed(pe Element) Items {
	one := []Element{pe}
	return Items{elements: one, names: keyNames(one)}
}

// ItemsKeyed returns the Items of a list whose key fields are known; none if the items are values.
func ItemsKeyed(names []string) Items { return Items{names: slices.Sorted(slices.Values(names))} }

// keyNames returns the sorted names of all key fields in the elements. An element's key lacks a
// field that the item did not set and that has no default.
func keyNames(elements []Element) []string {
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

// Element returns the element of a list item, built from the key fields that the item sets, and
// whether these are all the key fields. If the server defaults the whole key, the element's key is
// empty. A map has no element if the key fields are unknown.
func (x Items) Element(item any) (pe Element, complete, ok bool) {
	m, isMap := item.(map[string]any)
	if !isMap {
		if item == nil || IsContainer(item) {
			return pe, false, false
		}
		return smd.ValueElement(value.NewValueInterface(item)), true, true
	}
	key := make(value.FieldList, 0, len(x.names))
	for _, name := range x.names {
		if v, has := m[name]; has {
			key = append(key, value.Field{Name: name, Value: value.NewValueInterface(v)})
		}
	}
	return Element{Key: &key}, len(key) == len(x.names), len(x.names) > 0
}

// Match describes how well a list item matches an element.
type Match int

const (
	// NoMatch means that the element does not name the item.
	NoMatch Match = iota
	// Bare means that the item sets no key fields. The server may default the whole key (edge case
	// 88).
	Bare
	// Partial means that the item sets some key fields, and that their values match. The server may
	// default the other key fields (edge case 3).
	Partial
	// Exact means that the item sets all key fields, and they match.
	Exact
)

// Match reports how well a list item matches an element.
func (x Items) Match(item any, pe Element) Match {
	if pe.Value != nil {
		if item == nil || IsContainer(item) || !Equal(item, (*pe.Value).Unstructured()) {
			return NoMatch
		}
		return Exact
	}
	m, isMap := item.(map[string]any)
	if !isMap || pe.Key == nil || len(*pe.Key) == 0 {
		return NoMatch
	}
	result, message := Exact, 0
	for _, name := range x.names {
		want, inKey := KeyField(pe, name)
		got, inItem := m[name]
		switch {
		case inKey && inItem:
			if !Equal(got, want) {
				return NoMatch
			}
			message++
		case inItem:
			return NoMatch
		case inKey:
			result = Partial
		}
	}
	if message == 0 && result == Partial {
		return Bare
	}
	if message == 0 {
		return NoMatch
	}
	return result
}

// Possible returns the elements that an item may have once the server has set defaults.
func (x Items) Possible(item any) []Element {
	var out []Element
	for _, pe := range x.elements {
		if m := x.Match(item, pe); m == Bare || m == Partial {
			out = append(out, pe)
		}
	}
	return out
}

// Identify returns the element that the sets contain for an item. If the sets lack the item's own
// element, Identify considers the elements that the item may have once the server has set defaults.
// If the accept function allows exactly one of them, Identify returns that element.
func (x Items) Identify(item any, accept func(Element) bool) (Element, bool) {
	pe, complete, ok := x.Element(item)
	if !ok {
		return pe, false
	}
	if _, found := slices.BinarySearchFunc(x.elements, pe, Element.Compare); found {
		return pe, true
	}
	if complete {
		return pe, false
	}
	possible := slices.DeleteFunc(x.Possible(item), func(pe Element) bool { return !accept(pe) })
	if len(possible) != 1 {
		return pe, false
	}
	return possible[0], true
}

// Held works like [Items.Identify] for an item of the given list. It accepts a possible element
// unless another item of the list matches it exactly, because the element then belongs to that
// item.
func (x Items) Held(item any, list []any) (Element, bool) {
	return x.Identify(item, func(pe Element) bool {
		return !slices.ContainsFunc(list, func(other any) bool { return x.Match(other, pe) == Exact })
	})
}

// Unproven returns the key fields of pe that the item does not set but the given set contains.
// Their owner set these fields explicitly, so their values may differ from the server's defaults.
func Unproven(item any, pe Element, below *Set) []string {
	m, _ := item.(map[string]any)
	return slices.DeleteFunc(KeyNames(pe), func(name string) bool {
		_, declared := m[name]
		return declared || !below.Members.Has(FieldElement(name))
	})
}

// IsKey reports whether a field is part of the key of the list's items.
func (x Items) IsKey(name string) bool { return slices.Contains(x.names, name) }

// Names returns the names of the key fields of the list's items, sorted; none for a list of values.
func (x Items) Names() []string { return x.names }

// KeyField returns the value of a field in an element's key, and whether the key has the field.
func KeyField(pe Element, name string) (any, bool) {
	for _, f := range *pe.Key {
		if f.Name == name {
			return f.Value.Unstructured(), true
		}
	}
	return nil, false
}

// Find returns the position of the item that an element names, or -1. An exact match takes
// precedence over a partial one, and a partial match over a bare one. A partial or bare match
// counts only if no other item matches equally well.
func (x Items) Find(list []any, pe Element) int {
	best, at, several := NoMatch, -1, false
	for i, item := range list {
		m := x.Match(item, pe)
		switch {
		case m == Exact:
			return i
		case m > best:
			best, at, several = m, i, false
		case m != NoMatch && m == best:
			several = true
		}
	}
	if several {
		return -1
	}
	return at
}

// Find works like [Items.Find] with pe as the only known element of the list. It also accepts an
// element that names a position.
func Find(list []any, pe Element) int {
	switch {
	case pe.Index != nil:
		if i := *pe.Index; i >= 0 && i < len(list) {
			return i
		}
		return -1
	case pe.Key != nil || pe.Value != nil:
		return ItemsNamed(pe).Find(list, pe)
	}
	return -1
}

// KeyOf returns the fields of an element's key.
func KeyOf(pe Element) map[string]any {
	key := make(map[string]any, len(*pe.Key))
	for _, f := range *pe.Key {
		key[f.Name] = f.Value.Unstructured()
	}
	return key
}

// KeyNames returns the names of an element's key fields, in order; none if it has no key.
func KeyNames(pe Element) []string {
	if pe.Key == nil {
		return nil
	}
	names := make([]string, len(*pe.Key))
	for i, f := range *pe.Key {
		names[i] = f.Name
	}
	return names
}

// Element is one step of a path: a field name, or the identity of a list item.
type Element = smd.PathElement

// FieldElement returns the element of a field.
func FieldElement(name string) Element { return smd.FieldNameElement(name) }

// Index finds the items of a list by their elements.
type Index struct {
	// Elements holds one element for each item, in list order.
	Elements []Element
	sorted   []int
}

// Index returns an index of the list's items by element. It returns false if the element of an item
// is unknown.
func (x Items) Index(list []any) (Index, bool) {
	out := Index{Elements: make([]Element, len(list)), sorted: make([]int, len(list))}
	for i, item := range list {
		pe, _, ok := x.Element(item)
		if !ok {
			return out, false
		}
		out.Elements[i], out.sorted[i] = pe, i
	}
	slices.SortStableFunc(out.sorted, func(i, j int) int { return out.Elements[i].Compare(out.Elements[j]) })
	return out, true
}

func (x Index) isDistinct() bool {
	for n := 1; n < len(x.sorted); n++ {
		if x.Elements[x.sorted[n-1]].Equals(x.Elements[x.sorted[n]]) {
			return false
		}
	}
	return true
}

// Pair matches the items of two lists by element. It returns the positions of the items in both
// lists (pairs, in the order of x), of those only in x (gone), and of those only in the other list
// (come). If several items have the same element, Pair matches them in order.
func (x Index) Pair(other Index) (pairs [][2]int, gone, come []int) {
	i, j := 0, 0
	for i < len(x.sorted) || j < len(other.sorted) {
		order := 0
		switch {
		case i == len(x.sorted):
			order = 1
		case j == len(other.sorted):
			order = -1
		default:
			order = x.Elements[x.sorted[i]].Compare(other.Elements[other.sorted[j]])
		}
		switch {
		case order < 0:
			gone = append(gone, x.sorted[i])
			i++
		case order > 0:
			come = append(come, other.sorted[j])
			j++
		default:
			pairs = append(pairs, [2]int{x.sorted[i], other.sorted[j]})
			i, j = i+1, j+1
		}
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return a[0] - b[0] })
	return pairs, gone, come
}

// Keys converts elements to values. The value of a set item is the item itself; the value of a
// keyed item is its key.
func Keys(els []Element) []any {
	out := make([]any, len(els))
	for i, pe := range els {
		if pe.Value != nil {
			out[i] = (*pe.Value).Unstructured()
			continue
		}
		out[i] = KeyOf(pe)
	}
	return slices.Clip(out)
}

// Distinct reports whether no two items of a list have the same key.
func (x Items) Distinct(list []any) bool {
	if len(list) <= 8 {
		for i, a := range list {
			for _, b := range list[:i] {
				if sameKey(a, b, x.names) {
					return false
				}
			}
		}
		return true
	}
	if keys, ok := textKeys(list, x.names); ok {
		slices.Sort(keys)
		return len(slices.Compact(keys)) == len(list)
	}
	index, ok := x.Index(list)
	return ok && index.isDistinct()
}

// textKeys returns the keys of list items if each key is a single string, and false otherwise. Most
// long lists have such keys.
func textKeys(list []any, names []string) ([]string, bool) {
	if len(names) != 1 {
		return nil, false
	}
	keys := make([]string, len(list))
	for i, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		if keys[i], ok = m[names[0]].(string); !ok {
			return nil, false
		}
	}
	return keys, true
}

func sameKey(a, b any, names []string) bool {
	am, aMap := a.(map[string]any)
	bm, bMap := b.(map[string]any)
	if !aMap || !bMap {
		return Equal(a, b)
	}
	for _, name := range names {
		av, aHas := am[name]
		bv, bHas := bm[name]
		if aHas != bHas || !Equal(av, bv) {
			return false
		}
	}
	return true
}
