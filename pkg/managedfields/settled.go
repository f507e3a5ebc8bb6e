package managedfields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// settled walks the manifest beside the manager's set: they must hold the same
// paths, and the live object the same values.
func (j *judge) settled() bool {
	if !j.oneVersion || j.rewritesLastApplied() {
		return false
	}
	for _, e := range j.others {
		if e.Fields.Empty() { // The next apply would drop it.
			return false
		}
	}
	s := settler{judge: j}
	if !j.stated(s.top) {
		return false
	}
	return s.matched == j.ours.Size()
}

// rewritesLastApplied tells whether the API server would change the annotation
// of client-side apply, as it does for the manager "kubectl" alone.
func (j *judge) rewritesLastApplied() bool {
	return j.manager == "kubectl" && lastApplied(j.live) != ""
}

type settler struct {
	*judge
	// path of the value that is looked at.
	path []fieldpath.PathElement
	// matched counts the paths of the set that the manifest has confirmed.
	matched int
}

func (s *settler) top(name string, v any, inMetadata bool) bool {
	set, live := s.ours, s.live
	if inMetadata {
		pe := fieldpath.FieldNameElement("metadata")
		live, _ = s.live["metadata"].(map[string]any)
		if set, _ = below(s.ours, pe); set == nil {
			return false
		}
		s.path = append(s.path[:0], pe)
		if s.hasLeftover(name, set) {
			return false
		}
	} else {
		s.path = s.path[:0]
		if name == "stringData" && s.isSecret() {
			return s.stringData(v, set)
		}
	}
	return s.field(name, v, live, set)
}

// hasLeftover tells whether a field of metadata is both a member and a parent. A
// set that was applied has no such path there: it was moved in from an Update
// entry, and the next apply would drop it.
func (s *settler) hasLeftover(name string, set *Set) bool {
	pe := fieldpath.PathElement{FieldName: &name}
	_, parent := below(set, pe)
	return parent && set.Members.Has(pe)
}

func (s *settler) field(name string, v any, live map[string]any, set *Set) bool {
	pe := fieldpath.PathElement{FieldName: &name}
	member := set.Members.Has(pe)
	child, _ := below(set, pe)
	if !member && child == nil && !isEmpty(v) {
		return false
	}
	lv, has := live[name]
	s.path = append(s.path, pe)
	ok := s.value(v, side{lv, has}, member, child)
	s.path = s.path[:len(s.path)-1]
	return ok
}

// value compares a value with what is live and with the set: whether its path
// is a member, and what is below it.
func (s *settler) value(v any, live side, member bool, child *Set) bool {
	if member {
		s.matched++
	}
	switch v := v.(type) {
	case map[string]any:
		if child != nil {
			lm, ok := live.value.(map[string]any)
			return ok && len(v) > 0 && s.fields(v, lm, child)
		}
		return member && live.has && s.whole(v, live.value)
	case []any:
		switch {
		case child != nil:
			ll, ok := live.value.([]any)
			return ok && len(v) > 0 && s.items(v, ll, child)
		case !member:
			// An empty list leaves a trace in the set only if it is atomic. That
			// others hold items shows that it is not.
			return len(v) == 0 && s.othersBelow()
		}
		return live.has && s.whole(v, live.value)
	case nil:
		if child != nil || !member || live.value != nil {
			return false
		}
		// The server stores no null for a field of a built-in kind, yet takes it
		// for a new value each time, and a conflict with whoever stated it too.
		return live.has || !s.othersHold()
	}
	return member && child == nil && live.has && equal(v, live.value)
}

// whole compares a map or list that is a leaf of the set. It is atomic, or it
// was empty when it was applied. If it is granular, then others' paths below it
// may show that; if nobody's do, a map has to be known as atomic.
func (s *settler) whole(v, live any) bool {
	if isEmpty(v) {
		return equal(v, live) || s.othersBelow()
	}
	if _, isMap := v.(map[string]any); isMap {
		if last := s.path[len(s.path)-1]; last.FieldName != nil && !isAtomicMap(*last.FieldName) {
			return false
		}
	}
	return equal(v, live) && !s.othersBelow()
}

func (s *settler) fields(m, live map[string]any, set *Set) bool {
	for name, v := range m {
		if !s.field(name, v, live, set) {
			return false
		}
	}
	return true
}

// items compares a list that is owned item by item. The live list may have
// items of others in between, but must have ours in our order: the server would
// reorder them.
func (s *settler) items(list, live []any, set *Set) bool {
	els := elements(set)
	names := keyNames(els)
	if len(els) != len(list) || !distinct(live, names) {
		return false
	}
	used := make([]bool, len(els))
	next := 0
	for _, item := range list {
		i, ok := s.itemElement(item, els, names, set)
		if !ok || used[i] {
			return false
		}
		used[i] = true
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
		if matchItem(item, pe, names) == mayMatch && defaultsProven(m, pe, set) {
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

// othersBelow tells whether anybody else holds a path below the current one.
func (s *settler) othersBelow() bool {
	for _, e := range s.others {
		set := e.Fields
		for _, pe := range s.path {
			if set, _ = below(set, pe); set == nil {
				break
			}
		}
		if set != nil {
			return true
		}
	}
	return false
}

func (s *settler) othersHold() bool {
	for _, e := range s.others {
		if holds(e.Fields, s.path) {
			return true
		}
	}
	return false
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
