package adopt

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Dropped returns, sorted, the paths that a manager owned and no longer sets (edge case 33). live
// is the object before the apply, and answer is the server's response to the apply or to its dry
// run. A path is Released if it stays, because its Owners keep it or because the server's default
// has the same value. It is Changed if the server's default differs, and Removed if it is gone. A
// list item is one change, unless others keep part of it.
//
// The adoption precedes the apply, unless the live object already includes it. A dry run cannot
// show the effect of the adoption. Fields that the adopted managers owned and the manifest lacks
// therefore count as Removed, and so do claimed fields.
//
// emptied lists the maps and lists that no longer contain an owned field, inner ones first. The
// server removes each of them together with its unowned defaults, and then sets the default of the
// map or list again. If the unowned defaults stayed, the remainder, such as {} or a configMap with
// only its mode, might be invalid. The metadata always stays.
func Dropped(
	live, answer *unstructured.Unstructured, manager string, adoption Adoption,
) (changes []managedfields.Change, emptied []fieldpath.Path, err error) {
	before, err := managedfields.Entries(live)
	if err != nil {
		return nil, nil, fmt.Errorf("live object: %w", err)
	}
	after, err := managedfields.Entries(answer)
	if err != nil {
		return nil, nil, fmt.Errorf("the server's answer: %w", err)
	}
	changes, emptied = DroppedFrom(live, answer, before, after, manager, adoption)
	return changes, emptied, nil
}

// DroppedFrom is [Dropped] with the decoded managed fields of both objects, which it does not modify.
func DroppedFrom(
	live, answer *unstructured.Unstructured, before, after []managedfields.Entry, manager string, adoption Adoption,
) (changes []managedfields.Change, emptied []fieldpath.Path) {
	a := adoption.adopter
	d := &dropper{live: live.Object, answer: answer.Object, granular: a.granular, now: managedfields.Managed(after, manager)}
	held := managedfields.Managed(before, manager).Union(adoption.ClaimedSet()).Union(adoption.SurplusSet())
	moves := func(e managedfields.Entry) bool { return slices.ContainsFunc(adoption.Adopted, e.Equal) }
	for _, e := range before {
		if moves(e) {
			held = held.Union(a.adopts(e))
		}
	}
	for _, e := range managedfields.Others(after, manager) {
		if moves(e) {
			d.pending = append(d.pending, managedfields.Entry{Owner: e.Owner, Fields: a.adopts(e)})
			e.Fields = e.Fields.Difference(a.ends(e))
		}
		if surplus := adoption.lostToSurplus(e.Owner).Intersection(e.Fields); !surplus.Empty() {
			d.pending = append(d.pending, managedfields.Entry{Owner: e.Owner, Fields: surplus})
			e.Fields = e.Fields.Difference(surplus)
		}
		if !e.Fields.Empty() {
			d.keepers = append(d.keepers, e)
		}
	}
	if claimed := adoption.ClaimedSet(); !claimed.Empty() { // A dry run still shows it, without an owner.
		d.pending = append(d.pending, managedfields.Entry{Fields: claimed})
	}
	d.walk(nil, held)
	slices.SortFunc(d.changes, func(a, b managedfields.Change) int { return a.Path.Compare(b.Path) })
	return d.changes, d.emptied
}

type dropper struct {
	live, answer map[string]any
	granular     func(path fieldpath.Path) bool
	now          *fieldpath.Set
	keepers      []managedfields.Entry
	// pending contains the fields that adopted managers still own because the fields have not been
	// adopted yet, and those that are claimed.
	pending []managedfields.Entry
	changes []managedfields.Change
	emptied []fieldpath.Path
}

// walk collects the held fields that the manager has released. It collects the inner ones first: a map is
// emptied only when nothing below it has an owner.
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

// isLeft reports whether the manager has released the path. A manager that owns the parent may
// still have released the path: "labels: {}" releases every label. But if the path stays without
// another owner, its parent is atomic, and the manager has not released it.
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

func (d *dropper) item(p fieldpath.Path, child *fieldpath.Set) {
	d.leaf(p)
	if child == nil || len(managedfields.HoldersOf(d.keepers, p)) == 0 {
		return
	}
	kept := len(d.changes)
	d.walk(p, child)
	// The change to the whole item already says that the rest of the item stays.
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
	c.Atomic = last.FieldName != nil && fieldpath.IsFilled(from) && (d.granular == nil || !d.granular(p))
	d.changes = append(d.changes, c)
}

func isMetadata(p fieldpath.Path) bool { return len(p) == 1 && *p[0].FieldName == "metadata" }
