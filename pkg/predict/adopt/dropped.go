package adopt

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Dropped returns what becomes of the paths that a manager held and no longer states (edge
// case 33), sorted by path. Live is the object before, answer what the server made of the
// apply, or of its dry run:
//
//   - Removed: the path is gone from the object, or will be;
//   - Released: it stays, because its Owners hold it, or, without owners, because
//     the server's default is the same;
//   - Changed: it has no owner, and the server's default differs.
//
// Adoption is what is adopted together with this apply, if it has not reached the live
// object yet. A dry run cannot show its effect: what the adopted managers held and the
// manifest does not state is Removed. So is what it claims.
//
// A list item is one change with everything in it, unless others keep part of it.
func Dropped(live, answer *unstructured.Unstructured, manager string, adoption Adoption) ([]managedfields.Change, error) {
	d, err := drop(live, answer, manager, adoption)
	if err != nil {
		return nil, err
	}
	return d.changes, nil
}

// Emptied returns the maps and lists in which nothing has an owner any more, inner ones first. The
// server removes each as a whole, with the unowned defaults in it, so that it gets its own default
// again: {} in its place may be invalid, and so may a configMap with nothing but its mode. The
// metadata always stays.
func Emptied(live, answer *unstructured.Unstructured, manager string, adoption Adoption) ([]fieldpath.Path, error) {
	d, err := drop(live, answer, manager, adoption)
	if err != nil {
		return nil, err
	}
	return d.emptied, nil
}

func drop(live, answer *unstructured.Unstructured, manager string, adoption Adoption) (*dropper, error) {
	before, err := managedfields.Entries(live)
	if err != nil {
		return nil, fmt.Errorf("live object: %w", err)
	}
	after, err := managedfields.Entries(answer)
	if err != nil {
		return nil, fmt.Errorf("the server's answer: %w", err)
	}
	a := adoption.adopter
	d := &dropper{live: live.Object, answer: answer.Object, now: managedfields.Managed(after, manager)}
	held := managedfields.Managed(before, manager).Union(adoption.ClaimedSet())
	moves := func(e managedfields.Entry) bool { return slices.ContainsFunc(adoption.Adopted, e.Equal) }
	for _, e := range before {
		if moves(e) {
			held = held.Union(a.adopts(e))
		}
	}
	for _, e := range managedfields.Others(after, manager) {
		if set := a.adopts(e); !set.Empty() && moves(e) {
			d.pending = append(d.pending, managedfields.Entry{Owner: e.Owner, Fields: set})
			e.Fields = e.Fields.Difference(set)
		}
		if !e.Fields.Empty() {
			d.keepers = append(d.keepers, e)
		}
	}
	d.walk(nil, held)
	slices.SortFunc(d.changes, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	return d, nil
}

type dropper struct {
	live, answer map[string]any
	// now is what the manager holds after the apply, keepers what others do.
	now     *fieldpath.Set
	keepers []managedfields.Entry
	// pending is what the answer still has only because the adoption has not been made yet.
	pending []managedfields.Entry
	changes []managedfields.Change
	emptied []fieldpath.Path
}

// walk visits the elements of what was held below a path.
func (d *dropper) walk(path fieldpath.Path, held *fieldpath.Set) {
	for _, pe := range fieldpath.Elements(held) {
		p := path.Child(pe)
		child, inner := fieldpath.Below(held, pe)
		switch {
		case pe.FieldName == nil && held.Members.Has(pe) && d.isLeft(p):
			d.item(p, child)
		case inner:
			d.walk(p, child)
			if pe.FieldName != nil && !isMetadata(p) && !fieldpath.Touches(d.now, p) && len(managedfields.HoldersOf(d.keepers, p)) == 0 {
				d.emptied = append(d.emptied, p)
			}
		case d.isLeft(p):
			d.leaf(p)
		}
	}
}

// isLeft reports whether the manager released a path: nothing that it holds now is at the path, or
// below it. Holding a parent is not enough: "labels: {}" releases every label. But if the path
// stays without any other owner, the parent is one value, and the path is part of it.
func (d *dropper) isLeft(p fieldpath.Path) bool {
	if !fieldpath.Touches(d.now, p) {
		return true
	}
	if fieldpath.Holds(d.now, p) {
		return false
	}
	_, stays := p.Get(d.answer)
	return !stays || len(managedfields.HoldersOf(d.keepers, p))+len(managedfields.HoldersOf(d.pending, p)) > 0
}

// item handles a list item that we no longer state.
func (d *dropper) item(p fieldpath.Path, child *fieldpath.Set) {
	d.leaf(p)
	if child == nil || len(managedfields.HoldersOf(d.keepers, p)) == 0 {
		return
	}
	kept := len(d.changes)
	d.walk(p, child)
	// The item is already reported as kept by its owners, which implies its parts.
	d.changes = append(d.changes[:kept], slices.DeleteFunc(d.changes[kept:], func(c managedfields.Change) bool {
		return c.Kind == managedfields.Released
	})...)
}

func (d *dropper) leaf(p fieldpath.Path) {
	from, ok := p.Get(d.live)
	if !ok {
		return
	}
	c := managedfields.Change{Path: p, From: from, Kind: managedfields.Removed, Owners: managedfields.HoldersOf(d.keepers, p)}
	to, stays := p.Get(d.answer)
	switch {
	case len(c.Owners) > 0:
		c.To, c.Kind = to, managedfields.Released
	case !stays || len(managedfields.HoldersOf(d.pending, p)) > 0:
	case fieldpath.Equal(from, to):
		c.To, c.Kind = to, managedfields.Released
	default:
		c.To, c.Kind = to, managedfields.Changed
	}
	last := p[len(p)-1]
	c.Atomic = last.FieldName != nil && fieldpath.IsFilled(from)
	d.changes = append(d.changes, c)
}

func isMetadata(p fieldpath.Path) bool { return len(p) == 1 && *p[0].FieldName == "metadata" }
