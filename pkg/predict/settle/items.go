package settle

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// items compares a list that is owned item by item. The live list may have
// items of others in between, but must have ours in our order: the server would
// reorder them. So each item finds its own, and an element of the set that none
// of them is shows in the number of matched paths.
func (s *settler) items(list, live []any, set *fieldpath.Set) bool {
	x := fieldpath.ItemsOf(set)
	if !x.Distinct(live) {
		return false
	}
	next := 0
	for _, item := range list {
		pe, ok := x.Identify(item, func(pe fieldpath.Element) bool { return isProven(item, pe, set) })
		if !ok {
			return false
		}
		for next < len(live) && x.Match(live[next], pe) != fieldpath.Exact {
			next++
		}
		if next == len(live) || !s.item(item, live[next], pe, set) {
			return false
		}
		next++
	}
	return true
}

func (s *settler) item(item, live any, pe fieldpath.Element, set *fieldpath.Set) bool {
	child, _ := fieldpath.Below(set, pe)
	if !set.Members.Has(pe) {
		return false
	}
	s.path = append(s.path, pe)
	ok := s.value(item, fieldpath.Present(live), true, child)
	s.path = s.path[:len(s.path)-1]
	return ok
}

// isProven reports whether a set proves that the server completes an item to an element: a
// field of the key that the set does not hold below the element was not stated when we
// applied it either, so it is the server's default (edge case 3).
func isProven(item any, pe fieldpath.Element, set *fieldpath.Set) bool {
	child, ok := fieldpath.Below(set, pe)
	return ok && len(fieldpath.Unproven(item, pe, child)) == 0
}
