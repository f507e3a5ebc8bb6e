package adopt

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Surplus is a value that others have added, and that the apply is to remove. Without owners, it belongs to
// an object for which the API server has recorded none.
type Surplus struct {
	Path   fieldpath.Path
	Owners []managedfields.Owner
	// Unrecorded contains the object's fields, if it has no owners.
	Unrecorded *fieldpath.Set
}

// Remove returns the adoption extended by values that others have added. Their owners' fields at and
// below each path become ours before the apply, so that the apply removes them; the owners keep all
// other fields. sent is the manifest of the apply. Remove returns false if our entry has another API
// version than the live object, because paths at different versions cannot be combined.
func (a Adoption) Remove(live, sent *unstructured.Unstructured, surplus []Surplus) (Adoption, bool) {
	a.surplus, a.direct, a.directly, a.sent = nil, nil, nil, sent
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
	rest := WithoutSurplus(live, paths, sent)
	for _, e := range a.entries {
		moved, direct := fieldpath.NewSet(), fieldpath.NewSet()
		for _, s := range surplus {
			switch {
			case !slices.ContainsFunc(s.Owners, e.Equal):
				// If a map or list that stays empty kept an owner, the API server would store null.
				if !isBelowEmpty(s.Path, sent) {
					emptied(moved, e.Fields, s.Path, rest, sent)
				}
			case isBelowEmpty(s.Path, sent):
				moving(direct, e.Fields, s.Path, rest, sent)
			default:
				moving(moved, e.Fields, s.Path, rest, sent)
			}
		}
		if !moved.Empty() {
			a.surplus = append(a.surplus, managedfields.Entry{Owner: e.Owner, Fields: moved})
		}
		if !direct.Empty() {
			a.direct = append(a.direct, managedfields.Entry{Owner: e.Owner, Fields: direct})
		}
	}
	unowned := fieldpath.NewSet()
	for _, s := range surplus {
		if len(s.Owners) == 0 && s.Unrecorded != nil {
			moving(unowned, s.Unrecorded, s.Path, rest, sent)
		}
	}
	if !unowned.Empty() {
		a.surplus = append(a.surplus, managedfields.Entry{Fields: unowned})
	}
	for _, p := range paths {
		if isBelowEmpty(p, sent) {
			a.directly = append(a.directly, p)
		}
	}
	return a, true
}

// isBelowEmpty reports whether the manifest sets a map or list above the path to {} or []. If an apply
// removes the last field of such a map, the API server stores null in its place, and most schemas refuse
// that.
func isBelowEmpty(path fieldpath.Path, sent *unstructured.Unstructured) bool {
	for i := 1; i < len(path); i++ {
		if v, declared := path[:i].Get(sent.Object); declared && fieldpath.IsContainer(v) && fieldpath.IsEmpty(v) {
			return true
		}
	}
	return false
}

// Before returns the object to store before the managed fields change: without the surplus that the
// apply itself cannot remove. It returns nil if there is none.
func (a Adoption) Before(live *unstructured.Unstructured) *unstructured.Unstructured {
	return WithoutSurplus(live, a.directly, a.sent)
}

// WithoutSurplus returns a copy of the object without the paths, and without the maps and lists above
// them that stay empty and that the manifest (sent) lacks. It returns nil if the object contains none of
// the paths.
func WithoutSurplus(u *unstructured.Unstructured, paths []fieldpath.Path, sent *unstructured.Unstructured) *unstructured.Unstructured {
	out := Without(u, paths)
	if out == nil {
		return nil
	}
	for _, path := range paths {
		for i := len(path) - 1; i > 0; i-- {
			_, declared := path[:i].Get(sent.Object)
			if v, there := path[:i].Get(out.Object); declared || !there || !fieldpath.IsEmpty(v) {
				break
			}
			fieldpath.Delete(out.Object, path[:i])
		}
	}
	return out
}

func (a Adoption) lostToSurplus(owner managedfields.Owner) *fieldpath.Set {
	return managedfields.HeldBy(a.surplus, owner).Union(managedfields.HeldBy(a.direct, owner))
}

// moving adds the fields of the owner at and below the path, and those that [emptied] adds.
func moving(set, fields *fieldpath.Set, path fieldpath.Path, rest, sent *unstructured.Unstructured) {
	if !fieldpath.Holds(fields, path) {
		fieldpath.Insert(set, path) // the alias of another field
	}
	fieldpath.Each(fields, func(p fieldpath.Path) {
		if p.HasPrefix(path) {
			fieldpath.Insert(set, p.Clone())
		}
	})
	emptied(set, fields, path, rest, sent)
}

// emptied adds the maps and lists above the path that would stay empty.
func emptied(set, fields *fieldpath.Set, path fieldpath.Path, rest, sent *unstructured.Unstructured) {
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

// OnlyRemoves reports whether the adoption only removes what others have added.
func (a Adoption) OnlyRemoves() bool {
	return len(a.Adopted)+len(a.Claimed) == 0 && a.Released().Empty()
}

// Drops reports whether the adoption makes a path ours of which these are all owners.
func (a Adoption) Drops(path fieldpath.Path, owners []managedfields.Owner) bool {
	return !slices.ContainsFunc(owners, func(o managedfields.Owner) bool {
		return !slices.ContainsFunc(a.Adopted, o.Equal) || !fieldpath.Holds(a.adopter.adopts(managedfields.Entry{Owner: o, Fields: managedfields.HeldBy(a.entries, o)}), path)
	})
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
		if s.Manager == "" {
			continue
		}
		if i := slices.IndexFunc(next, func(e managedfields.Entry) bool { return e.SameEntry(s.Owner) && e.APIVersion == s.APIVersion }); i >= 0 {
			next[i].Fields = next[i].Fields.Union(s.Fields)
		} else if !s.Fields.Empty() {
			next = append(next, s)
		}
	}
	if ours.Fields = ours.Fields.Difference(back); !ours.Fields.Empty() {
		next = append([]managedfields.Entry{ours}, next...)
	}
	if len(next) == 0 {
		return []any{}, nil
	}
	return managedfields.Encode(next)
}
