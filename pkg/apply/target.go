package apply

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"

// target is one object that is still to be dealt with in this phase.
type target struct {
	predict.Prediction
	done bool
	// refusal is why taking all that is contested would not help.
	refusal error
	// anew is set if the object has to be deleted and created anew.
	anew *predict.Recreation
}

func (t *target) isDone() bool { return t.done }

func (t *target) contested() bool { return len(t.Conflicts) > 0 }

// guarded tells that the write holds only for the version that was read: it
// takes fields from others, and who they are must not have changed meanwhile.
func (t *target) guarded() bool { return len(t.Taken) > 0 || t.Adopts() }
