package adopt

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// SpareDefaults returns the adoption without the defaults that the server has set. An entry created by
// Update owns them. If we owned them, the next apply would remove them, and the server sets some of
// them only when the value around them is new.
//
// created is the server's response to a dry run that submits the manifest as a new object. A value
// that is also there, but not in the manifest, is a default.
func (a Adoption) SpareDefaults(manifest, created map[string]any) Adoption {
	a.adopter.defaults = a.movesOf(func(p fieldpath.Path) bool {
		v, declared := p.Get(manifest)
		return (!declared || v == nil) && p.Same(a.adopter.live, created)
	})
	// An owner of which nothing moves stays as it is.
	entries := a.entries
	a.Adopted = slices.DeleteFunc(slices.Clone(a.Adopted), func(o managedfields.Owner) bool {
		return !slices.ContainsFunc(entries, func(e managedfields.Entry) bool { return e.Equal(o) && !a.adopter.adopts(e).Empty() })
	})
	return a
}

// MayTakeDefaults reports whether the adoption contains values at or below fields that one of the
// manifest's forms sets to null, "", {} or [], or of which the apply owns nothing. Only such values can be
// defaults that the server would not set again.
func (a Adoption) MayTakeDefaults(forms ...map[string]any) bool {
	return !a.movesOf(func(p fieldpath.Path) bool {
		return a.isBelowHollow(p) || slices.ContainsFunc(forms, func(manifest map[string]any) bool { return isEmptied(manifest, p) })
	}).Empty()
}

func (a Adoption) isBelowHollow(p fieldpath.Path) bool {
	for i := 1; i < len(p) && a.adopter.hollow != nil; i++ {
		if a.adopter.hollow(p[:i]) {
			return true
		}
	}
	return false
}

// movesOf returns the adopted fields for which is returns true.
func (a Adoption) movesOf(is func(fieldpath.Path) bool) *fieldpath.Set {
	out := fieldpath.NewSet()
	for _, e := range a.entries {
		if e.Operation != managedfields.Update || !slices.ContainsFunc(a.Adopted, e.Equal) {
			continue
		}
		fieldpath.Each(a.adopter.adopts(e), func(p fieldpath.Path) {
			if is(p) {
				fieldpath.Insert(out, p.Clone())
			}
		})
	}
	return out
}

// isEmptied reports whether the manifest sets the path to null or "", or something above it to null,
// {} or [].
func isEmptied(manifest map[string]any, p fieldpath.Path) bool {
	for i := 1; i <= len(p); i++ {
		if v, has := p[:i].Get(manifest); has && (v == nil || v == "" || i < len(p) && fieldpath.IsEmpty(v)) {
			return true
		}
	}
	return false
}
