package ownership

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Handover is a path whose owners differ between two versions of an object.
type Handover struct {
	Path fieldpath.Path
	// Before and After are all owners of exactly this path, sorted; one of them may be empty.
	Before, After []managedfields.Owner
	// Inner: paths below are held as well. The path is a list item, or a map whose fields are owned
	// one by one, and holding it says nothing about the values in it.
	Inner bool
	// There: paths below are held before and after, so the path is in both versions.
	There bool
}

// Handovers returns, sorted by path, the paths whose owners differ between two versions of an
// object. The time of an owner's last write does not count; the API version of its paths does.
func Handovers(before, after []managedfields.Entry) []Handover {
	changed := fieldpath.NewSet()
	for _, e := range before {
		changed = changed.Union(e.Fields.Difference(managedfields.HeldBy(after, e.Owner)))
	}
	for _, e := range after {
		changed = changed.Union(e.Fields.Difference(managedfields.HeldBy(before, e.Owner)))
	}
	var out []Handover
	fieldpath.Each(changed, func(p fieldpath.Path) {
		was, inside := exactly(before, p)
		is, insideToo := exactly(after, p)
		if !slices.EqualFunc(was, is, managedfields.Owner.Equal) {
			out = append(out, Handover{Path: p.Clone(), Before: was, After: is, Inner: inside || insideToo, There: inside && insideToo})
		}
	})
	slices.SortFunc(out, func(a, b Handover) int { return a.Path.Compare(b.Path) })
	return out
}

// Fate returns the later owners of a path that some owners held, sorted. Before and After may be
// equal. The former state below the path is unknown, and assumed to be as it is now.
func Fate(p fieldpath.Path, before []managedfields.Owner, after []managedfields.Entry) Handover {
	is, inside := exactly(after, p)
	return Handover{Path: p, Before: before, After: is, Inner: inside, There: inside}
}

// exactly returns, sorted and without duplicates, the owners of the path itself, and whether any
// entry holds something below it.
func exactly(entries []managedfields.Entry, p fieldpath.Path) (owners []managedfields.Owner, inside bool) {
	for _, e := range entries {
		self, below := membership(e.Fields, p)
		inside = inside || below
		if self {
			owners = append(owners, e.Owner)
		}
	}
	slices.SortFunc(owners, managedfields.Owner.Compare)
	return slices.CompactFunc(owners, managedfields.Owner.Equal), inside
}

// membership reports whether a set has the path itself, and whether it has any path below.
func membership(set *fieldpath.Set, p fieldpath.Path) (self, inside bool) {
	for i, pe := range p {
		child, ok := fieldpath.Below(set, pe)
		if i == len(p)-1 {
			return set.Members.Has(pe), ok
		}
		if !ok {
			return false, false
		}
		set = child
	}
	return false, false
}
