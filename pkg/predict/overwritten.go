package predict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// TakenFrom returns the values of others that an apply overwrites, sorted by path: those
// that the user takes, and those of adopted managers. It does not guess whether a
// manager's value came from an older version of this manifest: it returns both values. A
// value of an adopted manager that the manifest only spells differently, such as a
// quantity, is not overwritten.
func (in *Prediction) TakenFrom(answer *unstructured.Unstructured) []managedfields.Conflict {
	all := slices.Clone(in.Taken)
	for _, c := range in.Overwritten {
		if in.Live == nil || answer == nil || !c.Path.Same(in.Live.Object, answer.Object) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b managedfields.Conflict) int { return a.Path.Compare(b.Path) })
	return all
}

// AdoptedFrom returns, each once, the managers whose fields become ours, or became ours in
// an earlier run that stopped before it applied.
func (in *Prediction) AdoptedFrom() []string {
	names := slices.Clone(in.Adoption.Earlier)
	for _, owner := range in.Adoption.Adopted {
		names = append(names, owner.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// OnlyOwners reports whether an adoption is all that an apply does: the content stays,
// except for the last-applied annotation, which was the adopted manager's.
func (in *Prediction) OnlyOwners(changes []managedfields.Change) bool {
	return len(in.AdoptedFrom()) > 0 && !slices.ContainsFunc(changes, func(c managedfields.Change) bool {
		return c.Kind != managedfields.Removed || !managedfields.IsLastApplied(c.Path)
	})
}
