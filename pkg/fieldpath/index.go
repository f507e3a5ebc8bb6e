package fieldpath

import (
	"slices"
)

// Index finds the items of a list by their elements.
type Index struct {
	// Elements of the items, in the order of the list.
	Elements []Element
	sorted   []int
}

// Index returns the index of a list, or false unless every item has an element and no
// two have the same.
func (x Items) Index(list []any) (Index, bool) {
	out := Index{Elements: make([]Element, len(list)), sorted: make([]int, len(list))}
	for i, item := range list {
		pe, _, ok := x.Element(item)
		if !ok {
			return out, false
		}
		out.Elements[i], out.sorted[i] = pe, i
	}
	slices.SortFunc(out.sorted, func(i, j int) int { return out.Elements[i].Compare(out.Elements[j]) })
	for n := 1; n < len(out.sorted); n++ {
		if out.Elements[out.sorted[n-1]].Equals(out.Elements[out.sorted[n]]) {
			return out, false
		}
	}
	return out, true
}

// Find returns the position of the item with an element, and whether there is one.
func (x Index) Find(pe Element) (int, bool) {
	n, ok := slices.BinarySearchFunc(x.sorted, pe, func(i int, pe Element) int {
		return x.Elements[i].Compare(pe)
	})
	if !ok {
		return 0, false
	}
	return x.sorted[n], true
}

// Common returns, in the order of x, the elements that other has too.
func (x Index) Common(other Index) []Element {
	var out []Element
	for _, pe := range x.Elements {
		if _, ok := other.Find(pe); ok {
			out = append(out, pe)
		}
	}
	return out
}

// Keys returns elements as values: a set item as itself, a keyed one as its key.
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
	_, ok := x.Index(list)
	return ok
}

// textKeys returns the keys of a list whose items are each identified by one string, as
// in most long lists.
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
