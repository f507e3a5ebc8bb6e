package adopt

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// Claim adds paths without an owner to an adoption, with everything that the live object
// has at them. Once the manager owns it, an apply that does not state it removes it.
//
// Nothing is claimed if the manager's entry is written at another version than the live
// object.
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
