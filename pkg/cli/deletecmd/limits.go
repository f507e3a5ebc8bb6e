package deletecmd

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/wait"
)

// longTimeout is how long an object may take that goes after everything it holds.
const longTimeout = 20 * time.Minute

// limits say how long objects may take to go.
type limits struct {
	usual, long time.Duration
	kinds       wait.TimeLimits
}

// parseLimits reads --timeout-for, and the times of kinds that are standing. Those of
// conditions are for a wait, and a delete has none.
func parseLimits(timeout time.Duration, given bool, each, standing []string) (limits, error) {
	kinds, err := wait.ParseTimeLimits(each)
	l := limits{usual: timeout, long: longTimeout, kinds: kinds}
	if given {
		l.long = timeout
	}
	errs := []error{err}
	for _, one := range kinds {
		if one.Condition != nil {
			errs = append(errs, fmt.Errorf("--timeout-for=%s: a delete waits for no condition; give KIND=DURATION, such as namespace=30m", one))
		}
	}
	with, err := kinds.With(standing)
	l.kinds = slices.DeleteFunc(with, func(one wait.TimeLimit) bool { return one.IsStanding && one.Condition != nil })
	return l, errors.Join(append(errs, err)...)
}

// of returns how long objects of the kind may take.
func (l limits) of(kind object.Kind) time.Duration {
	if most, own := l.kinds.Object(kind); own {
		return most
	}
	switch kind.GVK.GroupKind().String() {
	case "Namespace", "CustomResourceDefinition.apiextensions.k8s.io":
		return l.long
	}
	return l.usual
}

// check warns of a kind without objects to delete, which may be a slip.
func (l limits) check(phases []deletion.Phase, emit func(event.Event)) {
	var kinds []object.Kind
	for _, ph := range phases {
		for _, s := range ph.Sets {
			kinds = append(kinds, s.Kind)
		}
	}
	for _, one := range l.kinds.Idle(kinds) {
		emit(event.Warned{Text: fmt.Sprintf("--timeout-for=%s: nothing of that kind is deleted", one)})
	}
}
