package managedfields

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Conflict is a path at which an apply would change a value that others own.
type Conflict struct {
	Path fieldpath.Path
	// Yours is the manifest's value, and Live is the object's. HasLive distinguishes a missing
	// value from null. If several items of a list have the key in Path, Live contains all of them.
	Yours, Live any
	HasLive     bool
	// SameValue means that Yours and Live are spellings of one value, so taking the path would
	// change only its owner.
	SameValue bool
	// Owners are all owners of the path itself, or of a path above or below it, sorted.
	Owners []Owner
}

// Repeated reports whether the object has several list items with the key in Path. Server-side apply
// accepts only one.
func (c Conflict) Repeated() bool {
	_, several := c.Live.([]any)
	return several && c.Path[len(c.Path)-1].Key != nil
}

// Change returns the change that taking the path would make.
func (c Conflict) Change() Change {
	return Change{Path: c.Path, From: c.Live, To: c.Yours, Kind: Contested, SameValue: c.SameValue, Owners: c.Owners}
}

// IsStill reports whether a conflict has the same path, live value and owners as before. It ignores
// the owners' times and API versions.
func (c Conflict) IsStill(now Conflict) bool {
	return c.Path.Equal(now.Path) && c.HasLive == now.HasLive && fieldpath.Equal(c.Live, now.Live) &&
		slices.EqualFunc(c.Owners, now.Owners, func(a, b Owner) bool {
			return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
		})
}

// ChangeKind describes what happens to a path.
type ChangeKind string

// These are the kinds of changes.
const (
	Added     ChangeKind = "added"
	Removed   ChangeKind = "removed"
	Changed   ChangeKind = "changed"
	Contested ChangeKind = "contested"
	// TakenOver means that we change a value that others own and become its owner.
	TakenOver ChangeKind = "taken"
	// Released means that we no longer own a path that stays in the object.
	Released ChangeKind = "released"
	// Surplus means that others have added a path that the manifest lacks.
	Surplus ChangeKind = "surplus"
)

// Change is one path at which two projections differ.
type Change struct {
	Path      fieldpath.Path
	From, To  any
	Kind      ChangeKind
	Owners    []Owner
	SameValue bool
	// Atomic means that the value is owned as a whole.
	Atomic bool
	// Order means that items of a keyed list or set only moved to other positions. Owners own
	// items, not their order.
	Order bool
}

// SortConflicts sorts conflicts by path.
func SortConflicts(conflicts []Conflict) {
	slices.SortFunc(conflicts, func(a, b Conflict) int { return a.Path.Compare(b.Path) })
}

// Compare returns the differences between two projections of an object by the same field set,
// sorted by path. It matches items of keyed lists and sets by identity, never by position. It
// reports an atomic value as one path, treats null, absent and empty as different, and compares
// numbers by value. An item that is new or gone is one change. If items changed places, their list
// is one change with the keys in both orders.
//
// The changes have no owners: see [WithOwners]. Either side may be nil.
func Compare(before, after map[string]any, set *fieldpath.Set) []Change {
	c := comparer{}
	c.maps(nil, before, after, set)
	slices.SortFunc(c.changes, func(a, b Change) int { return a.Path.Compare(b.Path) })
	return c.changes
}

// WithOwners returns the changes with the owners of each path. It does not count the manager's own
// apply as an owner.
func WithOwners(changes []Change, entries []Entry, manager string) []Change {
	others := Others(entries, manager)
	out := slices.Clone(changes)
	for i := range out {
		if !out[i].Order {
			out[i].Owners = HoldersOf(others, out[i].Path)
		}
	}
	return out
}

type comparer struct {
	changes []Change
}

func (c *comparer) maps(path fieldpath.Path, before, after map[string]any, set *fieldpath.Set) {
	for name, v := range before {
		c.child(path, fieldpath.FieldElement(name), fieldpath.Present(v), fieldpath.FieldOf(after, name), set)
	}
	for name, v := range after {
		if _, ok := before[name]; !ok {
			c.child(path, fieldpath.FieldElement(name), fieldpath.Optional{}, fieldpath.Present(v), set)
		}
	}
}

func (c *comparer) child(path fieldpath.Path, pe fieldpath.Element, before, after fieldpath.Optional, set *fieldpath.Set) {
	var below *fieldpath.Set
	if set != nil {
		below, _ = set.Children.Get(pe)
	}
	path = path.Child(pe)
	shape := fieldpath.ShapeOf(below)
	if c.inside(path, before, after, below, shape) {
		return
	}
	change := Change{
		Path: path, From: before.Value, To: after.Value, Kind: Changed,
		Atomic: shape == fieldpath.Leaf && (fieldpath.IsFilled(before.Value) || fieldpath.IsFilled(after.Value)),
	}
	switch {
	case !before.Has:
		change.Kind = Added
	case !after.Has:
		change.Kind = Removed
	case fieldpath.Equal(before.Value, after.Value):
		return
	}
	c.changes = append(c.changes, change)
}

func (c *comparer) inside(path fieldpath.Path, before, after fieldpath.Optional, below *fieldpath.Set, shape fieldpath.Shape) bool {
	b, bMap := before.Value.(map[string]any)
	a, aMap := after.Value.(map[string]any)
	if shape == fieldpath.Fields && (bMap || !before.Has) && (aMap || !after.Has) {
		if len(b)+len(a) == 0 && before.Has != after.Has {
			return false // Empty and absent differ.
		}
		c.maps(path, b, a, below)
		return true
	}
	bl, bList := before.Value.([]any)
	al, aList := after.Value.([]any)
	if (shape == fieldpath.Keyed || shape == fieldpath.Values) && (bList || !before.Has) && (aList || !after.Has) {
		if len(bl)+len(al) == 0 && before.Has != after.Has {
			return false
		}
		return c.lists(path, bl, al, below)
	}
	return false
}

// lists compares two lists item by item. It returns false if an item has no element; the caller
// must then compare the lists as whole values. After a create or update, several items may have the
// same element. These are compared in order.
func (c *comparer) lists(path fieldpath.Path, before, after []any, set *fieldpath.Set) bool {
	x := fieldpath.ItemsOf(set)
	b, ok := x.Index(before)
	if !ok {
		return false
	}
	a, ok := x.Index(after)
	if !ok {
		return false
	}
	pairs, gone, come := b.Pair(a)
	for _, i := range gone {
		c.changes = append(c.changes, Change{Path: path.Child(b.Elements[i]), From: before[i], Kind: Removed})
	}
	for _, j := range come {
		c.changes = append(c.changes, Change{Path: path.Child(a.Elements[j]), To: after[j], Kind: Added})
	}
	was, is := make([]fieldpath.Element, len(pairs)), make([]fieldpath.Element, len(pairs))
	for n, pair := range pairs {
		was[n] = b.Elements[pair[0]]
		c.child(path, was[n], fieldpath.Present(before[pair[0]]), fieldpath.Present(after[pair[1]]), set)
	}
	slices.SortFunc(pairs, func(p, q [2]int) int { return p[1] - q[1] })
	for n, pair := range pairs {
		is[n] = a.Elements[pair[1]]
	}
	if !slices.EqualFunc(was, is, fieldpath.Element.Equals) {
		c.changes = append(c.changes, Change{Path: path, From: fieldpath.Keys(was), To: fieldpath.Keys(is), Kind: Changed, Order: true})
	}
	return true
}
