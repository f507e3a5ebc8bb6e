package managedfields

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Yield returns the manifest as it is to be applied so that the paths are left
// to whoever owns them, and those of the paths that it states (edge cases 31,
// 32). What somebody else owns leaves the manifest. What nobody else owns takes
// its live value, since the server would delete or re-default it otherwise;
// without a live value it leaves the manifest too. So does a parent that
// becomes empty by that: to state an empty parent is to own it.
//
// Where there is no live object, the manifest's value is the initial one, and
// nothing is yielded. A path may name a list item by its key, or a parent of
// many fields. Inside an atomic value nothing can be left out: there the live
// value takes the place of ours. The manifest itself is not changed.
//
// A field by which a list item is known can not be left out of the item: that is
// a *KeyError. Other errors are those of [Entries].
func Yield(manifest, live *unstructured.Unstructured, manager string, paths []Path) (*unstructured.Unstructured, []Path, error) {
	if live == nil || manifest == nil || len(paths) == 0 {
		return manifest, nil, nil
	}
	entries, err := Entries(live)
	if err != nil {
		return nil, nil, err
	}
	y := yielder{others: Others(entries, manager)}
	sets := make([]*Set, len(entries))
	for i, e := range entries {
		sets[i] = e.Fields
	}
	object, _ := clone(manifest.Object).(map[string]any)
	root := node{value: object, live: side{live.Object, true}, sets: sets}
	var yielded []Path
	for _, p := range ownable(paths, object) {
		if _, stated := p.Get(object); stated && !isIdentity(p) {
			if isKey(p) {
				return nil, nil, &KeyError{Path: p}
			}
			y.at(root, p)
			yielded = append(yielded, p)
		}
	}
	return &unstructured.Unstructured{Object: object}, yielded, nil
}

// ownable puts in the place of .metadata what somebody can own below it: the rest
// is the object's identity.
func ownable(paths []Path, manifest map[string]any) []Path {
	metadata, _ := manifest["metadata"].(map[string]any)
	var out []Path
	for _, p := range paths {
		if len(p) != 1 || p[0].FieldName == nil || *p[0].FieldName != "metadata" {
			out = append(out, p)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(metadata)) {
			if !isUnowned(name) {
				out = append(out, p.child(fieldpath.PathElement{FieldName: &name}))
			}
		}
	}
	return out
}

// isIdentity tells whether a path belongs to the identity of the object, which
// nobody owns and no manifest can do without.
func isIdentity(p Path) bool {
	if len(p) == 0 || p[0].FieldName == nil {
		return true
	}
	switch *p[0].FieldName {
	case "apiVersion", "kind":
		return true
	case "metadata":
		return len(p) == 1 || p[1].FieldName != nil && isUnowned(*p[1].FieldName)
	}
	return false
}

// KeyError says that a path names what a list item is known by.
type KeyError struct {
	Path Path
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("%s is part of the key of its list item, and can not be yielded by itself", e.Path)
}

// Hint names the item, which can be.
func (e *KeyError) Hint() string {
	return "yield the whole item: " + e.Path[:len(e.Path)-1].String()
}

// isKey tells whether a path names a field of the key of a list item.
func isKey(p Path) bool {
	if len(p) < 2 || p[len(p)-2].Key == nil || p[len(p)-1].FieldName == nil {
		return false
	}
	_, is := keyField(p[len(p)-2], *p[len(p)-1].FieldName)
	return is
}

// node is a value of the manifest with what is known of its path.
type node struct {
	path  Path
	value any
	live  side
	// sets are what owners, ourselves among them, hold below the path; held tells
	// that one of them holds the path itself.
	sets []*Set
	held bool
	// atomic: the value lies inside an atomic one.
	atomic bool
}

// down returns the node at an element below.
func (n node) down(pe fieldpath.PathElement, v any) node {
	next := node{path: n.path.child(pe), value: v, atomic: n.atomic || n.held && len(n.sets) == 0}
	next.held = slices.ContainsFunc(n.sets, func(s *Set) bool { return s.Members.Has(pe) })
	_, next.sets = descend(pe, nil, n.sets)
	switch live := n.live.value.(type) {
	case map[string]any:
		if pe.FieldName != nil {
			next.live.value, next.live.has = live[*pe.FieldName]
		}
	case []any:
		if i := find(live, pe); i >= 0 {
			next.live = side{live[i], true}
		}
	}
	return next
}

type yielder struct {
	others []Entry
}

// at yields what the rest of a path names below a node. It returns what the
// node's value becomes, and whether anything is left of it.
func (y *yielder) at(n node, rest Path) (any, bool) {
	if len(rest) == 0 {
		return y.yield(n)
	}
	pe := rest[0]
	switch v := n.value.(type) {
	case map[string]any:
		if pe.FieldName == nil {
			break
		}
		if next, keep := y.at(n.down(pe, v[*pe.FieldName]), rest[1:]); keep {
			v[*pe.FieldName] = next
		} else {
			delete(v, *pe.FieldName)
		}
		return v, len(v) > 0
	case []any:
		i := find(v, pe)
		if i < 0 {
			break
		}
		if next, keep := y.at(n.down(pe, v[i]), rest[1:]); keep {
			v[i] = next
		} else {
			v = slices.Delete(v, i, i+1)
		}
		return v, len(v) > 0
	}
	return n.value, true
}

// yield yields all that a node holds.
func (y *yielder) yield(n node) (any, bool) {
	shape := shapeOf(n.sets...)
	switch v := n.value.(type) {
	case map[string]any:
		if shape == fields && !n.atomic {
			return y.fields(n, v)
		}
	case []any:
		if (shape == keyed || shape == values) && !n.atomic {
			return y.items(n, v)
		}
	}
	if !n.atomic && y.othersHold(n.path) || !n.live.has {
		return nil, false
	}
	return clone(n.live.value), true
}

// fields yields what is in a map. The key of a list item stays as long as
// another field of the item does, or nobody else owns the key: who holds but a
// field of the item, as "kubectl set image" does, would be left with an item that
// is not valid without it.
func (y *yielder) fields(n node, m map[string]any) (any, bool) {
	pe := n.path[len(n.path)-1]
	left := false
	for name, v := range m {
		if pe.Key != nil {
			if _, isKey := keyField(pe, name); isKey {
				continue
			}
		}
		if next, keep := y.yield(n.down(fieldpath.FieldNameElement(name), v)); keep {
			m[name] = next
			left = true
		} else {
			delete(m, name)
		}
	}
	return m, left || pe.Key != nil && n.live.has && !y.othersHoldItem(n.path)
}

func (y *yielder) items(n node, list []any) (any, bool) {
	names := keyNames(elements(n.sets...))
	out := make([]any, 0, len(list))
	for _, item := range list {
		pe, ok := listElement(item, list, names, n.sets)
		if !ok {
			out = append(out, item)
			continue
		}
		if next, keep := y.yield(n.down(pe, item)); keep {
			out = append(out, next)
		}
	}
	return out, len(out) > 0
}

// listElement returns the element of an item, with the server's defaults for
// the rest of its key where they can only be one thing: nothing that another item
// of the list states, and rather what the sets prove to be a default.
func listElement(item any, list []any, names []string, sets []*Set) (fieldpath.PathElement, bool) {
	pe, complete, ok := elementOf(item, names)
	if !ok || complete {
		return pe, ok
	}
	var may, proven []fieldpath.PathElement
	for _, e := range elements(sets...) {
		stated := slices.ContainsFunc(list, func(other any) bool { return matchItem(other, e, names) == exactMatch })
		if stated || matchItem(item, e, names) != mayMatch {
			continue
		}
		may = append(may, e)
		m, _ := item.(map[string]any)
		if slices.ContainsFunc(sets, func(s *Set) bool { return defaultsProven(m, e, s) }) {
			proven = append(proven, e)
		}
	}
	switch {
	case len(may) == 1:
		return may[0], true
	case len(proven) == 1:
		return proven[0], true
	}
	return pe, true
}

// othersHoldItem tells whether another owner holds a list item itself, or all of
// its key.
func (y *yielder) othersHoldItem(p Path) bool {
	return slices.ContainsFunc(y.others, func(e Entry) bool {
		set, pe := e.Fields, p[len(p)-1]
		for _, above := range p[:len(p)-1] {
			if set, _ = below(set, above); set == nil {
				return false
			}
		}
		if set.Members.Has(pe) {
			return true
		}
		child, ok := below(set, pe)
		return ok && !slices.ContainsFunc(*pe.Key, func(f value.Field) bool {
			return !child.Members.Has(fieldpath.FieldNameElement(f.Name))
		})
	})
}

func (y *yielder) othersHold(p Path) bool {
	return slices.ContainsFunc(y.others, func(e Entry) bool { return holdsIn(e.Fields, p) })
}
