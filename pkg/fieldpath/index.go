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

// Index returns the index of a list, or false unless every item has an element.
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

// isDistinct reports whether no two items have the same element.
func (x Index) isDistinct() bool {
	for n := 1; n < len(x.sorted); n++ {
		if x.Elements[x.sorted[n-1]].Equals(x.Elements[x.sorted[n]]) {
			return false
		}
	}
	return true
}

// Pair returns the positions of the items that both lists have, in the order of x, and of those
// that only x or only other has. Of items with one element, the first belongs to the first.
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
	index, ok := x.Index(list)
	return ok && index.isDistinct()
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
