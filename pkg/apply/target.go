package apply

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// target is one object that is still to be dealt with in this phase.
type target struct {
	predict.Prediction
	done bool
	// refusal is why taking all that is contested would not help.
	refusal error
	// anew is set if the object has to be deleted and created anew.
	anew *predict.Recreation
	// late: the write found it in conflict, which was not reported.
	late bool
	// undecided: the user was asked about its conflicts, and did not decide them.
	undecided bool
	// take and yield are what was decided of its conflicts in this run.
	take, yield []predict.Choice
	// attempts are those at its write; nil before the first.
	attempts *retry.Attempts
}

func (t *target) isDone() bool { return t.done }

func (t *target) contested() bool { return len(t.Conflicts) > 0 }

// guarded tells that the write holds only for the version that was read: it
// takes fields from others, and who they are must not have changed meanwhile.
func (t *target) guarded() bool { return len(t.Taken) > 0 || t.Adopts() }

// overtaken reports whether a write was refused because another writer came in after our look at
// the object.
func (t *target) overtaken(refusal error) bool {
	return predict.IsContested(refusal) || apierrors.IsConflict(refusal) && (t.Live == nil || t.guarded())
}
