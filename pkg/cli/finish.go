package cli

import (
	"errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
)

// finish turns the end of a run and of its printer into the verb's.
func finish(ran, closed error) error {
	var incomplete *apply.IncompleteError
	var unknown *diff.UnknownError
	switch {
	case closed != nil:
		return closed
	case errors.As(ran, &unknown), errors.As(ran, &incomplete) && incomplete.Unknown > 0:
		return errUnknown
	case errors.As(ran, &incomplete), errors.Is(ran, diff.ErrDiffers):
		return errNo
	default:
		return ran
	}
}
