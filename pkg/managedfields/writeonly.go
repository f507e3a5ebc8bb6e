package managedfields

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// A Secret's stringData is write-only: the server stores its values in data, but records an
// apply under the name that was sent. An entry's f:stringData.X therefore stands for
// f:data.X. The server itself does not know that: it lets another manager overwrite data.X
// without a conflict, and leaves data.X when its applier no longer states it (edge case 12).

const (
	writeOnly = "stringData"
	storedAs  = "data"
)

// stored returns the entry with the paths at which the server stores what it records under a
// write-only name. In the core group, only a Secret has a field of that name.
func stored(e Entry) Entry {
	pe := fieldpath.FieldElement(writeOnly)
	if e.APIVersion != "v1" || !fieldpath.Touches(e.Fields, fieldpath.Path{pe}) {
		return e
	}
	under := fieldpath.NewSet()
	if e.Fields.Members.Has(pe) {
		fieldpath.Insert(under, fieldpath.Field(storedAs))
	}
	if child, ok := fieldpath.Below(e.Fields, pe); ok {
		fieldpath.Each(child, func(p fieldpath.Path) {
			fieldpath.Insert(under, append(fieldpath.Field(storedAs), p.Clone()...))
		})
	}
	rest := e.Fields.RecursiveDifference(fieldpath.NewSet(fieldpath.Path{pe}))
	e.WriteOnly = under.Difference(rest)
	e.Fields = rest.Union(under)
	return e
}

// present returns the entry of a Secret without write-only paths whose value has left the
// object: the server does not notice that, as it does for other paths.
func present(e Entry, u *unstructured.Unstructured) Entry {
	if e.WriteOnly == nil || u.GetKind() != "Secret" {
		return e
	}
	gone := fieldpath.NewSet()
	fieldpath.Each(e.WriteOnly, func(p fieldpath.Path) {
		if _, has := p.Get(u.Object); !has {
			fieldpath.Insert(gone, p.Clone())
		}
	})
	e.Fields, e.WriteOnly = e.Fields.Difference(gone), e.WriteOnly.Difference(gone)
	return e
}

// Stored returns the path at which the server stores what an object's manifest states at a
// write-only path, and any other path as it is.
func Stored(p fieldpath.Path, live *unstructured.Unstructured) fieldpath.Path {
	if live == nil || len(p) == 0 || p[0].FieldName == nil || *p[0].FieldName != writeOnly ||
		live.GetKind() != "Secret" || live.GetAPIVersion() != "v1" {
		return p
	}
	return append(fieldpath.Field(storedAs), p[1:]...)
}
