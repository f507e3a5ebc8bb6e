package adopt

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Claim adds to an adoption what nobody owns: all that the live object has at the
// paths. Once a manager owns it, it leaves the object with an apply that does not
// state it.
//
// An entry of the manager that is written at another version than the live object is
// left as it is.
func (a Adoption) Claim(live *unstructured.Unstructured, paths []fieldpath.Path) (Adoption, error) {
	claimed := fieldpath.NewSet()
	for _, p := range paths {
		if v, has := p.Get(live.Object); has {
			leaves(claimed, p, v)
		}
	}
	if claimed.Empty() {
		return a, nil
	}
	as := live
	if a.Fields != nil {
		as = &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": a.Fields}}}
	}
	entries, err := managedfields.Entries(as)
	if err != nil {
		return a, err
	}
	ours, exists := managedfields.AppliedBy(entries, a.adopter.manager)
	switch {
	case !exists:
		ours = managedfields.Entry{Owner: managedfields.Owner{Manager: a.adopter.manager, Operation: managedfields.Apply, APIVersion: live.GetAPIVersion()}, Fields: claimed}
	case ours.APIVersion != live.GetAPIVersion():
		return a, nil
	default:
		ours.Fields = ours.Fields.Union(claimed)
	}
	a.Claimed, a.claimed = paths, claimed
	a.Fields, err = managedfields.Encode(append([]managedfields.Entry{ours}, managedfields.Others(entries, a.adopter.manager)...))
	return a, err
}

// ClaimedSet returns what is claimed; it is never nil.
func (a Adoption) ClaimedSet() *fieldpath.Set {
	if a.claimed == nil {
		return fieldpath.NewSet()
	}
	return a.claimed
}

// leaves adds to a set the paths at which a value ends. Lists end it: of what nobody
// owns, nothing tells how its items are known.
func leaves(set *fieldpath.Set, p fieldpath.Path, v any) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		fieldpath.Insert(set, p)
		return
	}
	for name, v := range m {
		leaves(set, p.Child(fieldpath.Element{FieldName: &name}), v)
	}
}
