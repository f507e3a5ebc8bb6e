package adopt

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Moved returns the result of an apply after an adoption, except for the server's defaults. declared
// is the server's response to a dry run that submits the manifest as a new object. It contains the
// complete keys of list items and an entry for the manager. live is not modified.
func Moved(live, declared *unstructured.Unstructured, manager string, adoption Adoption) (*unstructured.Unstructured, error) {
	entries, err := managedfields.Entries(declared)
	if err != nil {
		return nil, err
	}
	ours, _ := managedfields.AppliedBy(entries, manager)
	if ours.Fields == nil {
		ours = managedfields.Entry{Owner: managedfields.Owner{Manager: manager, Operation: managedfields.Apply, APIVersion: declared.GetAPIVersion()}, Fields: fieldpath.NewSet()}
	}
	before, err := managedfields.Entries(live)
	if err != nil {
		return nil, err
	}
	after, err := managedfields.Encode(append([]managedfields.Entry{ours}, managedfields.Others(before, manager)...))
	if err != nil {
		return nil, err
	}
	as := live.DeepCopy()
	if err := unstructured.SetNestedSlice(as.Object, after, "metadata", "managedFields"); err != nil {
		return nil, err
	}
	dropped, emptied, err := Dropped(live, as, manager, adoption)
	if err != nil {
		return nil, err
	}
	var gone []fieldpath.Path
	for _, c := range dropped {
		// A field without an owner stays only until the apply.
		if c.Kind == managedfields.Removed || c.Kind == managedfields.Released && len(c.Owners) == 0 {
			gone = append(gone, c.Path)
		}
	}
	if without := Without(as, gone, emptied...); without != nil {
		as = without
	}
	overlay(as.Object, declared.Object, ours.Fields)
	return as, nil
}

// Overlaid returns a copy of u in which the fields of the set have their live values.
func Overlaid(u, live *unstructured.Unstructured, set *fieldpath.Set) *unstructured.Unstructured {
	out := u.DeepCopy()
	overlay(out.Object, live.Object, set)
	return out
}

func overlay(to, from any, set *fieldpath.Set) any {
	switch from := from.(type) {
	case map[string]any:
		to, ok := to.(map[string]any)
		if !ok {
			to = map[string]any{}
		}
		for name, v := range from {
			pe := fieldpath.Element{FieldName: &name}
			if next, held := overlayChild(to[name], v, pe, set); held {
				to[name] = next
			}
		}
		return to
	case []any:
		list, _ := to.([]any)
		return overlayList(list, from, set)
	default:
		return fieldpath.Clone(from)
	}
}

func overlayChild(to, from any, pe fieldpath.Element, set *fieldpath.Set) (any, bool) {
	if child, inner := fieldpath.Below(set, pe); inner && fieldpath.IsContainer(from) {
		return overlay(to, from, child), true
	}
	return fieldpath.Clone(from), set.Members.Has(pe)
}

func overlayList(to, from []any, set *fieldpath.Set) []any {
	x := fieldpath.ItemsOf(set)
	for _, item := range from {
		pe, ok := x.Held(item, from)
		if !ok {
			continue
		}
		if i := x.Find(to, pe); i >= 0 {
			if next, held := overlayChild(to[i], item, pe, set); held {
				to[i] = next
			}
			continue
		}
		if owned, held := managedfields.ProjectItem(item, pe, set); held {
			to = append(to, fieldpath.Clone(owned))
		}
	}
	return to
}

// Without returns a copy of the object without the paths and their emptied parents (see [Dropped]),
// or nil if the object contains none of the paths. Other parents stay.
func Without(u *unstructured.Unstructured, paths []fieldpath.Path, emptied ...fieldpath.Path) *unstructured.Unstructured {
	var out *unstructured.Unstructured
	for _, p := range paths {
		if _, there := p.Get(u.Object); !there || len(p) == 0 {
			continue
		}
		if out == nil {
			out = u.DeepCopy()
		}
		fieldpath.Delete(out.Object, p)
	}
	if out == nil {
		return nil
	}
	for _, p := range emptied {
		if _, there := p.Get(out.Object); there {
			fieldpath.Delete(out.Object, p)
		}
	}
	return out
}

// Transfer returns the metadata.managedFields that make the adopted fields ours before the apply,
// or nil if the apply is enough.
//
// Fields that the apply overwrites do not move (see [Adoption.Leave]), so that the next run still
// finds their owners if this run is interrupted. Until the apply, our entry contains special paths
// that record the former owners of the moved fields.
func (a Adoption) Transfer() ([]any, error) {
	if !a.Transfers() {
		return nil, nil
	}
	ours := a.ours
	ours.Fields = ours.Fields.Union(a.ClaimedSet()).Union(managedfields.HeldBy(a.surplus, managedfields.Owner{})).Difference(a.Released())
	marks := marksIn(a.ours.Fields)
	var kept []managedfields.Entry
	for _, e := range a.entries {
		set := a.transferred(e)
		surplus := managedfields.HeldBy(a.surplus, e.Owner)
		if migrates := a.adopter.migrates(e.Manager); !set.Empty() || migrates && slices.ContainsFunc(a.Adopted, e.Equal) {
			// A migration is marked even if no field moves before the apply. Otherwise an
			// interrupted migration would not be continued.
			marks.add(e.Manager, migrates)
		}
		if set = set.Union(surplus); !set.Empty() {
			ours.Fields = ours.Fields.Union(set)
			if e.Time.After(ours.Time) {
				ours.Time = e.Time
			}
		}
		e.Fields = e.Fields.Difference(a.ending(e)).Difference(a.lostToSurplus(e.Owner))
		if !e.Fields.Empty() {
			kept = append(kept, e)
		}
	}
	ours.Fields = ours.Fields.Union(marks.set())
	if !ours.Fields.Empty() {
		kept = append([]managedfields.Entry{ours}, kept...)
	}
	return managedfields.Encode(kept)
}

// Transfers reports whether the managed fields must change before the apply: to adopt, claim, release
// or remove fields.
func (a Adoption) Transfers() bool {
	return len(a.surplus)+len(a.direct) > 0 || !a.ClaimedSet().Empty() || !a.Released().Empty() || slices.ContainsFunc(a.entries, func(e managedfields.Entry) bool {
		return !a.ending(e).Empty()
	})
}

func (a Adoption) transferred(e managedfields.Entry) *fieldpath.Set {
	return a.adopter.adopts(e).Intersection(a.ending(e))
}

// ending returns the fields that the entry loses before the apply. Some of them get no new owner;
// see [Plan].
func (a Adoption) ending(e managedfields.Entry) *fieldpath.Set {
	if !slices.ContainsFunc(a.Adopted, e.Equal) {
		return fieldpath.NewSet()
	}
	return a.adopter.ends(e).Difference(managedfields.HeldBy(a.kept, e.Owner))
}

// Unowned returns the live object with the owners that it has after the adoption, except that
// adopted fields still belong to their former owners. It differs from live only if fields lose
// their owner.
func (a Adoption) Unowned(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	changed := false
	entries := slices.Clone(a.entries)
	for i, e := range entries {
		if lost := a.ending(e).Difference(a.adopter.adopts(e)); !lost.Empty() {
			entries[i].Fields, changed = e.Fields.Difference(lost), true
		}
	}
	if !changed {
		return live, nil
	}
	if !a.ours.Fields.Empty() {
		entries = append(entries, a.ours)
	}
	fields, err := managedfields.Encode(entries)
	if err != nil {
		return nil, err
	}
	out := live.DeepCopy()
	return out, unstructured.SetNestedSlice(out.Object, fields, "metadata", "managedFields")
}

// Overwrites reports whether the apply takes paths from adopted owners, which requires force.
func (a Adoption) Overwrites() bool { return len(a.kept) > 0 }

// Leave returns the adoption without the values that the manifest changes: their owners keep them
// until the apply takes them. answer is the server's response to a forced dry run. Values that the
// manifest merely spells differently, for example without defaults, remain in the adoption.
// Otherwise an owner's fields would be adopted in two steps.
func (a Adoption) Leave(answer *unstructured.Unstructured) (Adoption, error) {
	after, err := managedfields.Entries(answer)
	if err != nil {
		return a, err
	}
	return a.leave(func(e managedfields.Entry, set *fieldpath.Set) *fieldpath.Set {
		changed := fieldpath.NewSet()
		fieldpath.Each(set.Difference(managedfields.HeldBy(after, e.Owner)), func(p fieldpath.Path) {
			if !p.Same(a.adopter.live, answer.Object) {
				fieldpath.Insert(changed, p.Clone())
			}
		})
		return changed
	}), nil
}

// LeaveContested is [Adoption.Leave] for the conflicts of a refused apply without force.
func (a Adoption) LeaveContested(conflicts []managedfields.Conflict) Adoption {
	return a.leave(func(_ managedfields.Entry, set *fieldpath.Set) *fieldpath.Set {
		lost := fieldpath.NewSet()
		for _, c := range conflicts {
			if fieldpath.Has(set, c.Path) {
				fieldpath.Insert(lost, c.Path)
			}
		}
		return lost
	})
}

func (a Adoption) leave(lost func(e managedfields.Entry, set *fieldpath.Set) *fieldpath.Set) Adoption {
	a.kept = nil
	for _, e := range a.entries {
		if !slices.ContainsFunc(a.Adopted, e.Equal) {
			continue
		}
		set := a.adopter.ends(e)
		if set = lost(e, set); !set.Empty() {
			a.kept = append(a.kept, managedfields.Entry{Owner: e.Owner, Fields: set})
		}
	}
	return a
}
