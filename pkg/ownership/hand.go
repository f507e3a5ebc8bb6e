package ownership

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Hand marks transitions that were seen with values as given away, as the sender's field
// manager says. It is believed only as far as the objects bear it out: a path whose value changed is
// taken, whoever the sender is, and so is one that the sender kept.
func Hand(transitions []Transition) {
	for i := range transitions {
		t := &transitions[i]
		quiet := t.Kind == Released || t.Kind == Unclear && (t.Why == SameValue || t.Why == Migration)
		kept := slices.ContainsFunc(t.Gained(), func(o managedfields.Owner) bool { return o.Manager == managedfields.Giver })
		if quiet && !kept && len(t.After) > 0 && len(t.Lost()) > 0 {
			t.Kind, t.Why = Given, ""
		}
	}
}
