package predict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// TakenFrom returns the values of others that an apply overwrites, sorted by path:
// those that the user takes, and those of adopted managers. Whether a manager's value
// is an older version of this manifest or somebody's own is not guessed at: both
// values are there to see. A value of an adopted manager that only looks different
// in the manifest, such as a quantity in another spelling, is not overwritten.
//
// Where an earlier run adopted and was stopped before it applied, the entry that told
// whose the values were is gone. Then all that changes was client-side apply's, or that
// of whoever was named for that run.
func (p Predictor) TakenFrom(in *Prediction, answer *unstructured.Unstructured) ([]managedfields.Conflict, error) {
	if in.Live == nil {
		return in.Taken, nil
	}
	overwritten := in.Overwritten
	var err error
	switch {
	case in.Adopts():
	case in.halfAdopted:
		overwritten, err = p.leftUndone(in, answer, managedfields.ClientSideApply)
	case in.interrupted && len(overwritten) == 0: // Else it is this run that took them over.
		overwritten, err = p.leftUndone(in, answer, adoptedBefore)
	}
	if err != nil {
		return nil, err
	}
	all := slices.Clone(in.Taken)
	for _, c := range overwritten {
		if answer == nil || !c.Path.Same(in.Live.Object, answer.Object) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b managedfields.Conflict) int { return a.Path.Compare(b.Path) })
	return all, nil
}

// adoptedBefore stands for a manager whose fields an earlier run took over. Its name went
// with its entry; one that is named now need not be the same.
const adoptedBefore = "a manager adopted by an earlier run"

// leftUndone returns what an adoption that an earlier run began overwrites.
func (p Predictor) leftUndone(in *Prediction, answer *unstructured.Unstructured, from string) ([]managedfields.Conflict, error) {
	view, err := p.View(in, answer)
	if err != nil {
		return nil, err
	}
	owner := managedfields.Owner{
		Manager: from, Operation: managedfields.Update, APIVersion: in.Live.GetAPIVersion(),
	}
	var all []managedfields.Conflict
	for _, c := range view.Changes() {
		taken := slices.ContainsFunc(in.Taken, func(t managedfields.Conflict) bool { return t.Path.Equal(c.Path) })
		if c.Kind == managedfields.Changed && !taken {
			all = append(all, managedfields.Conflict{
				Path: c.Path, Yours: c.To, Live: c.From, HasLive: true, Owners: []managedfields.Owner{owner},
			})
		}
	}
	return all, nil
}

// AdoptedFrom returns the managers whose fields become ours, or became ours by an
// earlier run that did not get to apply, each once.
func (in *Prediction) AdoptedFrom() []string {
	var names []string
	for _, owner := range in.Adoption.Adopted {
		names = append(names, owner.Manager)
	}
	if in.halfAdopted && !in.Adopts() {
		names = append(names, managedfields.ClientSideApply)
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
