package managedfields

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Unrecorded returns all fields of an object without managed fields, as the entry of an unknown owner, which
// has no name. Without an owner, the keys of a list's items are unknown, so a list is one field.
func Unrecorded(u *unstructured.Unstructured) Entry {
	out := Entry{Owner: Owner{APIVersion: u.GetAPIVersion()}, Fields: fieldpath.NewSet()}
	var visit func(p fieldpath.Path, v any)
	visit = func(p fieldpath.Path, v any) {
		m, isMap := v.(map[string]any)
		switch {
		case isMap && len(m) > 0:
			for name, below := range m {
				visit(p.Child(fieldpath.FieldElement(name)), below)
			}
		case !fieldpath.IsIdentity(p):
			fieldpath.Insert(out.Fields, p)
		}
	}
	for name, v := range u.Object {
		visit(fieldpath.Field(name), v)
	}
	return out
}
