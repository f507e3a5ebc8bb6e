package noop

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// settled compares the manifest with the manager's set and with the live object: the set
// must have the same paths, and the object the same values.
func (j *evaluation) settled() bool {
	if !j.oneVersion || j.rewritesLastApplied() {
		return false
	}
	for _, e := range j.others {
		if e.Fields.Empty() && e.WriteOnly == nil { // The next apply would drop it.
			return false
		}
	}
	s := settler{evaluation: j}
	if !j.stated(s.top) {
		return false
	}
	return s.matched == j.ours.Size()
}

// rewritesLastApplied reports whether the API server would change the annotation
// of client-side apply, as it does for the manager "kubectl" alone.
func (j *evaluation) rewritesLastApplied() bool {
	return j.manager == "kubectl" && managedfields.LastApplied(j.live) != ""
}

func (s *settler) top(name string, v any, inMetadata bool) bool {
	set, live := s.ours, s.live
	if inMetadata {
		pe := fieldpath.FieldElement("metadata")
		live, _ = s.live["metadata"].(map[string]any)
		if set, _ = fieldpath.Below(s.ours, pe); set == nil {
			return false
		}
		s.path = append(s.path[:0], pe)
		if s.hasLeftover(name, set) {
			return false
		}
	} else {
		s.path = s.path[:0]
	}
	return s.field(name, v, live, set)
}

// hasLeftover reports whether a field of metadata is both a member and a parent in the
// set. An apply never produces such a path: it was moved in from an Update entry, and the
// next apply would drop it.
func (s *settler) hasLeftover(name string, set *fieldpath.Set) bool {
	pe := fieldpath.Element{FieldName: &name}
	_, parent := fieldpath.Below(set, pe)
	return parent && set.Members.Has(pe)
}

func (s *settler) field(name string, v any, live map[string]any, set *fieldpath.Set) bool {
	pe := fieldpath.Element{FieldName: &name}
	member := set.Members.Has(pe)
	child, _ := fieldpath.Below(set, pe)
	if !member && child == nil && !fieldpath.IsEmpty(v) {
		return false
	}
	s.path = append(s.path, pe)
	ok := s.value(v, fieldpath.FieldOf(live, name), member, child)
	s.path = s.path[:len(s.path)-1]
	return ok
}

// value compares a value with the live one and with the set. Member is set if the value's
// path is in the set; child is what the set has below it.
func (s *settler) value(v any, live fieldpath.Optional, member bool, child *fieldpath.Set) bool {
	if member {
		s.matched++
	}
	if live.Value == nil && child == nil && s.leftOut(v, member) {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		if child != nil {
			lm, ok := live.Value.(map[string]any)
			return ok && len(v) > 0 && s.fields(v, lm, child)
		}
		return member && live.Has && s.whole(v, live.Value)
	case []any:
		switch {
		case child != nil:
			ll, ok := live.Value.([]any)
			return ok && len(v) > 0 && s.items(v, ll, child)
		case !member:
			// An empty list is in the set only if it is atomic. If others hold items, it
			// is not.
			_, isList := live.Value.([]any)
			return len(v) == 0 && isList && (s.othersBelow() || s.emptyByType())
		}
		return live.Has && s.whole(v, live.Value)
	case nil:
		if child != nil || !member {
			return false
		}
		if live.Value != nil {
			return s.nullByType(live.Value)
		}
		// The server stores no null for a field of a built-in kind, yet treats it as a new
		// value each time, and as a conflict with anyone else who stated the field.
		return live.Has || !s.othersHold()
	}
	return member && child == nil && live.Has && (fieldpath.Equal(v, live.Value) || s.scalarByType(v, live.Value))
}

// whole compares a map or list that is a leaf of the set: it is atomic, or it was empty
// when it was applied. Paths of others below it show that it is granular. If there are
// none, a map has to be known as atomic.
func (s *settler) whole(v, live any) bool {
	if same, sure := s.wholeByType(v, live); sure {
		return same
	}
	if fieldpath.IsEmpty(v) {
		return fieldpath.Equal(v, live) || s.othersBelow() && sameSort(v, live)
	}
	if _, isMap := v.(map[string]any); isMap {
		if last := s.path[len(s.path)-1]; last.FieldName != nil && !isAtomicMap(*last.FieldName) {
			return false
		}
	}
	if _, isList := v.([]any); isList && !s.isAtomicList() {
		return false // The server would make us own its items (edge case 89).
	}
	return fieldpath.Equal(v, live) && !s.othersBelow()
}

// isAtomicList reports whether the list at the current path is known to be atomic. A
// set alone cannot tell: an entry that was edited by hand, or that dates from when
// the list was empty, holds a list as a leaf whose items are owned one by one.
func (s *settler) isAtomicList() bool {
	last := s.path[len(s.path)-1]
	version, _ := s.manifest["apiVersion"].(string)
	return last.FieldName != nil && isBuiltIn(version) && !isGranularList(*last.FieldName, len(s.path) == 1)
}

func (s *settler) fields(m, live map[string]any, set *fieldpath.Set) bool {
	for name, v := range m {
		if !s.field(name, v, live, set) {
			return false
		}
	}
	return true
}

// items compares a list that is owned item by item. The live list may have items of others
// in between, but must have ours in our order: otherwise the server would reorder them.
// Each item matches its own element; an element of the set that no item matches shows in
// the number of matched paths.
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

// isProven reports whether a set proves that the server completes an item to an element:
// if the set does not hold a field of the key, we did not state it at the last apply
// either, so it is the server's default (edge case 3).
func isProven(item any, pe fieldpath.Element, set *fieldpath.Set) bool {
	child, ok := fieldpath.Below(set, pe)
	return ok && len(fieldpath.Unproven(item, pe, child)) == 0
}
