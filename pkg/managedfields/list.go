package managedfields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// indexed is a list by element.
type indexed struct {
	order  []fieldpath.PathElement
	sorted []int
}

func byElement(list []any, names []string) (indexed, bool) {
	x := indexed{order: make([]fieldpath.PathElement, len(list)), sorted: make([]int, len(list))}
	for i, item := range list {
		pe, _, ok := elementOf(item, names)
		if !ok {
			return x, false
		}
		x.order[i], x.sorted[i] = pe, i
	}
	slices.SortFunc(x.sorted, func(i, j int) int { return x.order[i].Compare(x.order[j]) })
	for n := 1; n < len(x.sorted); n++ {
		if x.order[x.sorted[n-1]].Equals(x.order[x.sorted[n]]) {
			return x, false
		}
	}
	return x, true
}

func (x indexed) find(pe fieldpath.PathElement) (int, bool) {
	n, ok := slices.BinarySearchFunc(x.sorted, pe, func(i int, pe fieldpath.PathElement) int {
		return x.order[i].Compare(pe)
	})
	if !ok {
		return 0, false
	}
	return x.sorted[n], true
}

// common returns, in the order of x, the elements that other has too.
func (x indexed) common(other indexed) []fieldpath.PathElement {
	var out []fieldpath.PathElement
	for _, pe := range x.order {
		if _, ok := other.find(pe); ok {
			out = append(out, pe)
		}
	}
	return out
}

// keys shows elements as values: a set item as itself, a keyed one as its key.
func keys(els []fieldpath.PathElement) []any {
	out := make([]any, len(els))
	for i, pe := range els {
		if pe.Value != nil {
			out[i] = (*pe.Value).Unstructured()
			continue
		}
		key := make(map[string]any, len(*pe.Key))
		for _, f := range *pe.Key {
			key[f.Name] = f.Value.Unstructured()
		}
		out[i] = key
	}
	return slices.Clip(out)
}

// distinct tells whether no two items of a list have the same key.
func distinct(list []any, names []string) bool {
	if len(list) <= 8 {
		for i, a := range list {
			for _, b := range list[:i] {
				if sameKey(a, b, names) {
					return false
				}
			}
		}
		return true
	}
	if keys, ok := textKeys(list, names); ok {
		slices.Sort(keys)
		return len(slices.Compact(keys)) == len(list)
	}
	_, ok := byElement(list, names)
	return ok
}

// textKeys returns the keys of a list whose items have one text as their key,
// as most long lists do.
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
		return equal(a, b)
	}
	for _, name := range names {
		av, aHas := am[name]
		bv, bHas := bm[name]
		if aHas != bHas || !equal(av, bv) {
			return false
		}
	}
	return true
}
