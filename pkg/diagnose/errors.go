package diagnose

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var (
	// ErrSlow says that a read was not answered in time.
	ErrSlow error = slowError{}
	// ErrNotAsked stands for what nobody asked because enough was asked already.
	ErrNotAsked = errors.New("not looked at, for enough was read already")

	errGone = errors.New("it is gone by now")
)

type slowError struct{}

func (slowError) Error() string { return "no answer in time" }

// Unreachable marks errors that say nothing about the object.
func (slowError) Unreachable() bool { return true }

// Slow reports whether no more is known than that an answer did not come in time.
func Slow(err error) bool { return errors.Is(err, ErrSlow) }

// Denied reports whether we were not allowed to look.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// Troubled reports whether an error is about the server, not about what was asked.
func Troubled(err error) bool {
	var unreachable interface{ Unreachable() bool }
	return errors.As(err, &unreachable) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsUnexpectedServerError(err)
}
