package adopt

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Transfer returns the value of metadata.managedFields by which fields become the
// manager's before it applies; nil where the apply alone does all.
//
// What the apply overwrites is not among them: see [Adoption.Leave] and
// [Adoption.LeaveContested]. So the next run after one that was stopped in between still
// finds the owner of each value. Until the apply, marks in the manager's own entry (paths
// that no object has) say who owned the rest.
func (a Adoption) Transfer() ([]any, error) {
	if !a.Transfers() {
		return nil, nil
	}
	ours := a.ours
	ours.Fields = ours.Fields.Union(a.ClaimedSet())
	marks := marksIn(a.ours.Fields)
	var kept []managedfields.Entry
	for _, e := range a.entries {
		set := a.transferred(e)
		if migrates := a.adopter.migrates(e.Manager); !set.Empty() || migrates && slices.ContainsFunc(a.Adopted, e.Equal) {
			// A migration of which nothing moves before the apply is not to stop half-way.
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
	return managedfields.Encode(append([]managedfields.Entry{ours}, kept...))
}

// Transfers reports whether anything becomes the manager's before it applies.
func (a Adoption) Transfers() bool {
	return !a.ClaimedSet().Empty() || slices.ContainsFunc(a.entries, func(e managedfields.Entry) bool {
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

// Overwrites reports whether the apply takes paths from adopted owners, so that it is in
// conflict with them unless it is forced.
func (a Adoption) Overwrites() bool { return len(a.kept) > 0 }

// Leave returns the adoption with what the adopted owners lose by the apply left to them
// until then: the values that the manifest changes. Answer is the server's to a forced dry
// run. A value that the manifest only spells differently, such as one without its defaults,
// is the same in the answer and moves with the rest: an entry that is to move as a whole
// would look like two takeovers otherwise.
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

// LeaveContested is Leave by what an apply without force was refused for.
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
