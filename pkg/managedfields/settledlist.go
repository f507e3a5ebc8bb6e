package managedfields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// items compares a list that is owned item by item. The live list may have
// items of others in between, but must have ours in our order: the server would
// reorder them. So each item finds its own, and an element of the set that none
// of them is shows in the number of matched paths.
func (s *settler) items(list, live []any, set *Set) bool {
	els := elements(set)
	names := keyNames(els)
	if !distinct(live, names) {
		return false
	}
	next := 0
	for _, item := range list {
		i, ok := s.itemElement(item, els, names, set)
		if !ok {
			return false
		}
		for next < len(live) && matchItem(live[next], els[i], names) != exactMatch {
			next++
		}
		if next == len(live) || !s.item(item, live[next], els[i], set) {
			return false
		}
		next++
	}
	return true
}

func (s *settler) item(item, live any, pe fieldpath.PathElement, set *Set) bool {
	child, _ := below(set, pe)
	if !set.Members.Has(pe) {
		return false
	}
	s.path = append(s.path, pe)
	ok := s.value(item, side{live, true}, true, child)
	s.path = s.path[:len(s.path)-1]
	return ok
}

// itemElement returns which of the set's elements an item is. Where the item
// leaves out part of its key, the set may prove what the server makes of it: a
// field of the key that the set does not hold below the element was not stated
// when we applied it either, so it is the server's default (edge case 3).
func (s *settler) itemElement(item any, els []fieldpath.PathElement, names []string, set *Set) (int, bool) {
	pe, complete, ok := elementOf(item, names)
	if !ok {
		return 0, false
	}
	if i, found := slices.BinarySearchFunc(els, pe, fieldpath.PathElement.Compare); found {
		return i, true
	}
	if complete {
		return 0, false
	}
	m, _ := item.(map[string]any)
	found, n := 0, 0
	for i, pe := range els {
		if matchItem(item, pe, names).isPossible() && defaultsProven(m, pe, set) {
			found = i
			n++
		}
	}
	return found, n == 1
}

func defaultsProven(item map[string]any, pe fieldpath.PathElement, set *Set) bool {
	child, ok := below(set, pe)
	if !ok {
		return false
	}
	for _, f := range *pe.Key {
		if _, stated := item[f.Name]; !stated && child.Members.Has(fieldpath.FieldNameElement(f.Name)) {
			return false
		}
	}
	return true
}
