package predict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// TakenFrom returns the values of others that an apply overwrites, sorted by path: those
// that the user takes, and those of adopted managers. It does not guess whether a manager's
// value is an older version of this manifest or its own: both values are there to see. A
// value of an adopted manager that only looks different in the manifest, such as a quantity
// in another spelling, is not overwritten.
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

// AdoptedFrom returns the managers whose fields become ours, or became ours by an
// earlier run that did not get to apply, each once.
func (in *Prediction) AdoptedFrom() []string {
	names := slices.Clone(in.Adoption.Earlier)
	for _, owner := range in.Adoption.Adopted {
		names = append(names, owner.Manager)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// OnlyOwners reports whether an adoption is all that an apply does: of the content,
// nothing but the last-applied annotation goes, which was the adopted manager's.
func (in *Prediction) OnlyOwners(changes []managedfields.Change) bool {
	return len(in.AdoptedFrom()) > 0 && !slices.ContainsFunc(changes, func(c managedfields.Change) bool {
		return c.Kind != managedfields.Removed || !managedfields.IsLastApplied(c.Path)
	})
}
