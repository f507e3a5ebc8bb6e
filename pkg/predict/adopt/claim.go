package adopt

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Claim adds what has no owner to an adoption: all that the live object has at the paths.
// Once a manager owns it, an apply that does not state it removes it.
//
// An entry of the manager that is written at another version than the live object is
// left as it is.
func (a Adoption) Claim(live *unstructured.Unstructured, paths []fieldpath.Path) Adoption {
	claimed := fieldpath.NewSet()
	for _, p := range paths {
		if v, has := p.Get(live.Object); has {
			leaves(claimed, p, v)
		}
	}
	if claimed.Empty() {
		return a
	}
	if a.ours.APIVersion == "" {
		a.ours.APIVersion = live.GetAPIVersion()
	}
	if a.ours.APIVersion == live.GetAPIVersion() {
		a.Claimed, a.claimed = paths, claimed
	}
	return a
}

// ClaimedSet returns what is claimed; it is never nil.
func (a Adoption) ClaimedSet() *fieldpath.Set {
	if a.claimed == nil {
		return fieldpath.NewSet()
	}
	return a.claimed
}

// leaves adds to a set the paths at which a value ends. Lists end it: without an owner,
// nothing shows how the items are identified.
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
