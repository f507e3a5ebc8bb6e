package adopt

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Surplus is a value that others have added, and that the apply is to remove.
type Surplus struct {
	Path   fieldpath.Path
	Owners []managedfields.Owner
}

// Remove returns the adoption extended by values that others have added. Their owners' fields at and
// below each path become ours before the apply, so that the apply removes them; the owners keep all
// other fields. sent is the manifest of the apply. Remove returns false if our entry has another API
// version than the live object, because paths at different versions cannot be combined.
func (a Adoption) Remove(live, sent *unstructured.Unstructured, surplus []Surplus) (Adoption, bool) {
	a.surplus = nil
	if len(surplus) == 0 {
		return a, true
	}
	if a.ours.APIVersion == "" {
		a.ours.APIVersion = live.GetAPIVersion()
	}
	if a.ours.APIVersion != live.GetAPIVersion() {
		return a, false
	}
	paths := make([]fieldpath.Path, len(surplus))
	for i, s := range surplus {
		paths[i] = s.Path
	}
	rest := Without(live, paths)
	for _, e := range a.entries {
		set := fieldpath.NewSet()
		for _, s := range surplus {
			if slices.ContainsFunc(s.Owners, e.Equal) {
				moving(set, e.Fields, s.Path, rest, sent)
			}
		}
		if !set.Empty() {
			a.surplus = append(a.surplus, managedfields.Entry{Owner: e.Owner, Fields: set})
		}
	}
	return a, true
}

// moving adds the fields of the owner at and below the path, and the maps and lists above it that
// would stay empty.
func moving(set, fields *fieldpath.Set, path fieldpath.Path, rest, sent *unstructured.Unstructured) {
	fieldpath.Each(fields, func(p fieldpath.Path) {
		if p.HasPrefix(path) {
			fieldpath.Insert(set, p.Clone())
		}
	})
	for i := len(path) - 1; i > 0; i-- {
		above := path[:i]
		if _, declared := above.Get(sent.Object); declared {
			return
		}
		if rest != nil {
			if v, there := above.Get(rest.Object); there && !fieldpath.IsEmpty(v) {
				return
			}
		}
		if fieldpath.Has(fields, above) {
			fieldpath.Insert(set, above.Clone())
		}
	}
}

// SurplusSet returns the fields that become ours so that the apply removes them. It never returns nil.
func (a Adoption) SurplusSet() *fieldpath.Set {
	out := fieldpath.NewSet()
	for _, e := range a.surplus {
		out = out.Union(e.Fields)
	}
	return out
}

// Return returns the managed fields of an object in which the surplus belongs to its former owners
// again; nil if nothing of it is ours. Return undoes [Adoption.Transfer] if the apply fails.
func (a Adoption) Return(live *unstructured.Unstructured) ([]any, error) {
	entries, err := managedfields.Entries(live)
	if err != nil {
		return nil, err
	}
	ours, is := managedfields.AppliedBy(entries, a.Manager())
	if !is || ours.APIVersion != live.GetAPIVersion() {
		return nil, nil
	}
	back := ours.Fields.Intersection(a.SurplusSet()).Difference(a.ours.Fields)
	if back.Empty() {
		return nil, nil
	}
	next := managedfields.Others(entries, a.Manager())
	for _, s := range a.surplus {
		s.Fields = s.Fields.Intersection(back)
		if i := slices.IndexFunc(next, func(e managedfields.Entry) bool { return e.SameEntry(s.Owner) && e.APIVersion == s.APIVersion }); i >= 0 {
			next[i].Fields = next[i].Fields.Union(s.Fields)
		} else if !s.Fields.Empty() {
			next = append(next, s)
		}
	}
	if ours.Fields = ours.Fields.Difference(back); !ours.Fields.Empty() {
		next = append([]managedfields.Entry{ours}, next...)
	}
	return managedfields.Encode(next)
}
