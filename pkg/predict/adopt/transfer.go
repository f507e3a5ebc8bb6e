package adopt

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Transfer returns the metadata.managedFields that make the adopted fields the manager's
// before it applies, or nil if the apply alone is enough.
//
// Fields that the apply overwrites do not move: see [Adoption.Leave] and
// [Adoption.LeaveContested]. If a run is stopped in between, the next one therefore still
// finds the owners of these values. Until the apply, marks in the manager's own entry
// (paths that no object has) record who owned the rest.
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
			// A migration is marked even if nothing moves before the apply, or an
			// interrupted one would not be continued.
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

// Overwrites reports whether the apply takes paths from adopted owners. Such an apply
// meets a conflict unless it is forced.
func (a Adoption) Overwrites() bool { return len(a.kept) > 0 }

// Leave returns the adoption without the values that the manifest changes: the adopted
// owners keep these until the apply takes them. Answer is the server's to a forced dry
// run. A value that the manifest only spells differently, such as one without its
// defaults, is the same in the answer and moves with the rest; otherwise the takeover of
// one entry would look like two.
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

// LeaveContested is [Adoption.Leave] for the conflicts that an apply without force was
// refused for.
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
