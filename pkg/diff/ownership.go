package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// ownership returns the changes of owners that the apply makes. There are none for an object with
// conflicts, because apply does not write it. Without a dry run, only the fields of adopted managers
// are known.
func (e *Engine) ownership(p *predict.Prediction, before []managedfields.Entry) ([]event.OwnerChange, error) {
	switch {
	case len(p.Conflicts) > 0:
		return nil, nil
	case p.Answer == nil:
		var all ownerChangeList
		for _, owner := range p.Adoption.Adopted {
			fieldpath.Each(managedfields.HeldBy(before, owner).Leaves(), func(path fieldpath.Path) {
				all.add(event.BecomesTaken, path.String(), owner)
			})
		}
		return all.grouped(), nil
	}
	stored := p.Answer
	if p.Adopts() { // The dry run has left the fields that the apply takes beforehand.
		fields, err := p.Adoption.LetGo(p.Answer)
		if err != nil {
			return nil, err
		}
		stored = &unstructured.Unstructured{Object: maps.Clone(p.Answer.Object)}
		meta, _ := stored.Object["metadata"].(map[string]any)
		meta = maps.Clone(meta)
		meta["managedFields"], stored.Object["metadata"] = fields, meta
	}
	after, err := p.Entries(stored)
	if err != nil {
		return nil, err
	}
	return ownerChanges(before, after, p.Live.Object, stored.Object, e.Predictor.Manager), nil
}

// ownerChanges compares the owners of each field before and after an apply by the manager. It leaves out
// the new fields of ours, which are changes of values.
func ownerChanges(before, after []managedfields.Entry, live, stored map[string]any, manager string) []event.OwnerChange {
	was, is := managedfields.Managed(before, manager), managedfields.Managed(after, manager)
	others := managedfields.Others(after, manager)
	var all ownerChangeList
	for _, e := range managedfields.Others(before, manager) {
		kept := fieldpath.NewSet()
		for _, a := range others {
			if a.SameEntry(e.Owner) {
				kept = kept.Union(a.Fields)
			}
		}
		fieldpath.Each(e.Fields.Leaves().Difference(kept), func(p fieldpath.Path) {
			becomes := event.BecomesLost
			if fieldpath.Touches(is, p) {
				becomes = event.BecomesTaken
			}
			all.add(becomes, p.String(), e.Owner)
		})
	}
	fieldpath.Each(is.Leaves().Difference(was), func(p fieldpath.Path) {
		if holders := managedfields.HoldersOf(others, p); len(holders) > 0 {
			all.add(event.BecomesShared, p.String(), holders...)
		} else if _, there := p.Get(live); there {
			all.add(event.BecomesOwned, p.String())
		}
	})
	fieldpath.Each(was.Leaves().Difference(is), func(p fieldpath.Path) {
		// A value that is removed is a change. A map stays ours with a field in it: an apply that was cut may
		// have moved the map before its fields.
		if _, stays := p.Get(stored); stays && !fieldpath.Touches(is, p) {
			all.add(event.BecomesReleased, p.String(), managedfields.HoldersOf(others, p)...)
		}
	})
	return all.grouped()
}

// ownerChangeList collects the owners of each changed path.
type ownerChangeList map[event.Becoming]map[string][]managedfields.Owner

func (l *ownerChangeList) add(becomes event.Becoming, path string, owners ...managedfields.Owner) {
	if *l == nil {
		*l = ownerChangeList{}
	}
	if (*l)[becomes] == nil {
		(*l)[becomes] = map[string][]managedfields.Owner{}
	}
	all := (*l)[becomes][path]
	for _, o := range owners {
		all = append(all, managedfields.Owner{Manager: o.Manager, Operation: o.Operation, Subresource: o.Subresource})
	}
	slices.SortFunc(all, managedfields.Owner.Compare)
	(*l)[becomes][path] = slices.Compact(all)
}

// grouped lists the paths with the same change of owners together, sorted.
func (l ownerChangeList) grouped() []event.OwnerChange {
	var out []event.OwnerChange
	for _, becomes := range slices.Sorted(maps.Keys(l)) {
		first := len(out)
		for _, path := range slices.Sorted(maps.Keys(l[becomes])) {
			owners := l[becomes][path]
			i := slices.IndexFunc(out[first:], func(c event.OwnerChange) bool { return slices.Equal(c.Owners, owners) })
			if i < 0 {
				out = append(out, event.OwnerChange{Becomes: becomes, Owners: owners})
				i = len(out) - 1 - first
			}
			out[first+i].Paths = append(out[first+i].Paths, path)
		}
	}
	return out
}
