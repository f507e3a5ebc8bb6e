package adopt

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Moved returns the result of an apply once the manager owns what is adopted: what the manager then
// holds and stated lacks is gone, and what stated states is set. The server still has to fill in
// its defaults.
//
// stated is the server's own form of the manifest, with the manager's entry in its managed fields:
// its answer to the creation of such an object, which has the keys of list items. The live object
// is not changed.
func Moved(live, stated *unstructured.Unstructured, manager string, adoption Adoption) (*unstructured.Unstructured, error) {
	entries, err := managedfields.Entries(stated)
	if err != nil {
		return nil, err
	}
	ours, _ := managedfields.AppliedBy(entries, manager)
	if ours.Fields == nil {
		ours = managedfields.Entry{Owner: managedfields.Owner{Manager: manager, Operation: managedfields.Apply, APIVersion: stated.GetAPIVersion()}, Fields: fieldpath.NewSet()}
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
	dropped, err := Dropped(live, as, manager, adoption)
	if err != nil {
		return nil, err
	}
	var gone []fieldpath.Path
	for _, c := range dropped {
		// A field without an owner stays in the live object only until the apply.
		if c.Kind == managedfields.Removed || c.Kind == managedfields.Released && len(c.Owners) == 0 {
			gone = append(gone, c.Path)
		}
	}
	emptied, err := Emptied(live, as, manager, adoption)
	if err != nil {
		return nil, err
	}
	if without := Without(as, gone, emptied...); without != nil {
		as = without
	}
	overlay(as.Object, stated.Object, ours.Fields)
	return as, nil
}

// Overlaid returns a copy of an object with what the set holds of the live object added.
func Overlaid(u, live *unstructured.Unstructured, set *fieldpath.Set) *unstructured.Unstructured {
	out := u.DeepCopy()
	overlay(out.Object, live.Object, set)
	return out
}

// overlay sets in a value what the set holds of another one, and returns the result.
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

// overlayChild overlays what is at one element of a set, if it is held.
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
		if cut, held := managedfields.ProjectItem(item, pe, set); held {
			to = append(to, fieldpath.Clone(cut))
		}
	}
	return to
}

// Without returns a copy of the object without what is at the paths, or nil if the object has
// nothing at any of them. Parents stay, empty or not, except those in emptied (see [Emptied]),
// which go with all that is left in them: the defaults that have no owner. The object is not
// changed.
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

// Transfer returns the metadata.managedFields that make the adopted fields the manager's before it
// applies, or nil if the apply alone is enough.
//
// Fields that the apply overwrites do not move: see [Adoption.Leave] and [Adoption.LeaveContested].
// So if a run is stopped in between, the next one still finds the owners of these values. Until the
// apply, marks in the manager's own entry (paths that no object has) record who owned the rest.
func (a Adoption) Transfer() ([]any, error) {
	if !a.Transfers() {
		return nil, nil
	}
	ours := a.ours
	ours.Fields = ours.Fields.Union(a.ClaimedSet()).Difference(a.Released())
	marks := marksIn(a.ours.Fields)
	var kept []managedfields.Entry
	for _, e := range a.entries {
		set := a.transferred(e)
		if migrates := a.adopter.migrates(e.Manager); !set.Empty() || migrates && slices.ContainsFunc(a.Adopted, e.Equal) {
			// A migration is marked even if nothing moves before the apply, or an interrupted one
			// would not be continued.
			marks.add(e.Manager, migrates)
		}
		if !set.Empty() {
			ours.Fields = ours.Fields.Union(set)
			if e.Time.After(ours.Time) {
				ours.Time = e.Time
			}
			e.Fields = e.Fields.Difference(set)
		}
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

// Transfers reports whether anything becomes the manager's before it applies.
func (a Adoption) Transfers() bool {
	return !a.ClaimedSet().Empty() || !a.Released().Empty() || slices.ContainsFunc(a.entries, func(e managedfields.Entry) bool {
		return !a.transferred(e).Empty()
	})
}

// transferred returns what moves from an entry to the manager's before it applies.
func (a Adoption) transferred(e managedfields.Entry) *fieldpath.Set {
	if e.APIVersion != a.ours.APIVersion {
		return fieldpath.NewSet()
	}
	return a.adopter.adopts(e).Difference(managedfields.HeldBy(a.kept, e.Owner))
}

// Overwrites reports whether the apply takes paths from adopted owners, which is a conflict unless
// it is forced.
func (a Adoption) Overwrites() bool { return len(a.kept) > 0 }

// Leave returns the adoption without the values that the manifest changes: the adopted owners keep
// these until the apply takes them. answer is the server's answer to a forced dry run. A value that
// the manifest only spells differently, such as one without its defaults, is the same in the answer
// and moves with the rest; otherwise the takeover of one entry would look like two.
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
		set := a.adopter.adopts(e)
		if set.Empty() || e.APIVersion != a.ours.APIVersion {
			continue
		}
		if set = lost(e, set); !set.Empty() {
			a.kept = append(a.kept, managedfields.Entry{Owner: e.Owner, Fields: set})
		}
	}
	return a
}
