package diagnose

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var (
	// ErrSlow says that a read was not answered in time.
	ErrSlow error = slowError{}
	// ErrNotAsked stands for a question beyond the budget, which was not asked.
	ErrNotAsked = errors.New("not read: the limit of requests for one explanation is reached")

	errGone = errors.New("it no longer exists")
)

type slowError struct{}

func (slowError) Error() string { return "no answer in time" }

// Unreachable marks errors that say nothing about the object.
func (slowError) Unreachable() bool { return true }

// Slow reports whether the only thing known is that no answer came in time.
func Slow(err error) bool { return errors.Is(err, ErrSlow) }

// Denied reports whether we lacked permission to read.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// Troubled reports whether an error is about the server rather than the question.
func Troubled(err error) bool {
	var unreachable interface{ Unreachable() bool }
	return errors.As(err, &unreachable) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsUnexpectedServerError(err)
}
