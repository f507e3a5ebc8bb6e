package managedfields

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Compare returns what differs between two projections of an object by the same
// field set, sorted by path: items of keyed lists and sets by what they are,
// never by position; an atomic value as one path, labelled so; null, absent and
// empty as three things; numbers by value. An item that is new or gone is one
// change with all that is in it. Where items that both sides have changed places, their
// list is one change with the keys in both orders.
//
// Owners are not looked up: see [WithOwners]. Either side may be nil.
func Compare(before, after map[string]any, set *Set) []Change {
	c := comparer{}
	c.maps(nil, before, after, set)
	slices.SortFunc(c.changes, func(a, b Change) int { return a.Path.Compare(b.Path) })
	return c.changes
}

// WithOwners returns the changes with the owners that each path has in entries,
// except for what the manager itself has applied.
func WithOwners(changes []Change, entries []Entry, manager string) []Change {
	others := Others(entries, manager)
	out := slices.Clone(changes)
	for i := range out {
		out[i].Owners = HoldersOf(others, out[i].Path)
	}
	return out
}

type comparer struct {
	changes []Change
}

func (c *comparer) maps(path Path, before, after map[string]any, set *Set) {
	for name, v := range before {
		v2, ok := after[name]
		c.child(path, fieldpath.FieldNameElement(name), side{v, true}, side{v2, ok}, set)
	}
	for name, v := range after {
		if _, ok := before[name]; !ok {
			c.child(path, fieldpath.FieldNameElement(name), side{}, side{v, true}, set)
		}
	}
}

// child compares both sides of one element of a set. Nil sets stand for nothing
// known.
func (c *comparer) child(path Path, pe fieldpath.PathElement, before, after side, set *Set) {
	var below *Set
	if set != nil {
		below, _ = set.Children.Get(pe)
	}
	path = path.child(pe)
	shape := shapeOf(below)
	if c.inside(path, before, after, below, shape) {
		return
	}
	change := Change{
		Path: path, From: before.value, To: after.value, Kind: Changed,
		Atomic: shape == leaf && (isFilled(before.value) || isFilled(after.value)),
	}
	switch {
	case !before.has:
		change.Kind = Added
	case !after.has:
		change.Kind = Removed
	case equal(before.value, after.value):
		return
	}
	c.changes = append(c.changes, change)
}

// inside compares what lies below a path, and tells whether that says all there
// is to say of the path.
func (c *comparer) inside(path Path, before, after side, below *Set, shape shape) bool {
	b, bMap := before.value.(map[string]any)
	a, aMap := after.value.(map[string]any)
	if shape == fields && (bMap || !before.has) && (aMap || !after.has) {
		if len(b)+len(a) == 0 && before.has != after.has {
			return false // Empty is not absent.
		}
		c.maps(path, b, a, below)
		return true
	}
	bl, bList := before.value.([]any)
	al, aList := after.value.([]any)
	if (shape == keyed || shape == values) && (bList || !before.has) && (aList || !after.has) {
		if len(bl)+len(al) == 0 && before.has != after.has {
			return false
		}
		return c.lists(path, bl, al, below)
	}
	return false
}

// lists compares lists by element. It gives up, for the list to be compared as
// one value, where an item has no element or two items have the same.
func (c *comparer) lists(path Path, before, after []any, set *Set) bool {
	x := ItemsOf(set)
	b, ok := x.Index(before)
	if !ok {
		return false
	}
	a, ok := x.Index(after)
	if !ok {
		return false
	}
	for i, pe := range b.Elements {
		j, has := a.Find(pe)
		if !has {
			c.changes = append(c.changes, Change{Path: path.child(pe), From: before[i], Kind: Removed})
			continue
		}
		c.child(path, pe, side{before[i], true}, side{after[j], true}, set)
	}
	for j, pe := range a.Elements {
		if _, has := b.Find(pe); !has {
			c.changes = append(c.changes, Change{Path: path.child(pe), To: after[j], Kind: Added})
		}
	}
	was, is := b.Common(a), a.Common(b)
	if !slices.EqualFunc(was, is, fieldpath.PathElement.Equals) {
		c.changes = append(c.changes, Change{Path: path, From: Keys(was), To: Keys(is), Kind: Changed})
	}
	return true
}
