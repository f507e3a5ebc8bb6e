package managedfields

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Conflict is a contested path: an apply would change the value that its present
// owners set.
type Conflict struct {
	Path fieldpath.Path
	// Yours is the manifest's value, Live the object's; nil is null or absent, which
	// HasLive distinguishes.
	Yours, Live any
	HasLive     bool
	// SameValue is set if taking the path would change its owner and not its value:
	// yours and the live one are two spellings of it.
	SameValue bool
	// Owners are all owners of the path, or of a path above or below it, sorted.
	Owners []Owner
}

// Change returns what taking the path changes.
func (c Conflict) Change() Change {
	return Change{Path: c.Path, From: c.Live, To: c.Yours, Kind: Contested, SameValue: c.SameValue, Owners: c.Owners}
}

// IsStill reports whether a conflict is the same as when it was seen: of the same path, with the
// same live value and the same owners, whenever those last wrote.
func (c Conflict) IsStill(now Conflict) bool {
	return c.Path.Equal(now.Path) && c.HasLive == now.HasLive && fieldpath.Equal(c.Live, now.Live) &&
		slices.EqualFunc(c.Owners, now.Owners, func(a, b Owner) bool {
			return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
		})
}

// ChangeKind says what happens to a path.
type ChangeKind string

// The kinds of changes.
const (
	Added     ChangeKind = "added"
	Removed   ChangeKind = "removed"
	Changed   ChangeKind = "changed"
	Contested ChangeKind = "contested"
	// TakenOver: others set the value; we change it and become its owner.
	TakenOver ChangeKind = "taken"
	// Released: we stop owning the path, and it stays: others own it, or it is left without an
	// owner.
	Released ChangeKind = "released"
)

// Change is one path at which two projections differ.
type Change struct {
	Path     fieldpath.Path
	From, To any
	Kind     ChangeKind
	// Owners of the path other than us, in the live object.
	Owners []Owner
	// SameValue is set with Contested where both sides are spellings of one value.
	SameValue bool
	// Atomic is set if the value is one path with everything in it.
	Atomic bool
	// Order is set if only items of a keyed list or set have changed places. That takes nothing from
	// an owner: items have owners, their order has none.
	Order bool
}

// SortConflicts sorts conflicts by path.
func SortConflicts(conflicts []Conflict) {
	slices.SortFunc(conflicts, func(a, b Conflict) int { return a.Path.Compare(b.Path) })
}
