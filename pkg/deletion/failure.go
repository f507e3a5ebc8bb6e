package deletion

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// otherNow says of an object that is gone what is there instead (edge case 68).
const otherNow = "it is gone; another object has its name now, and was left alone"

// isUnserved tells that the kind went, and all its objects with it. An API whose
// server does not answer is something else, and so is a kind that is served in
// another version.
func isUnserved(err error) bool {
	return meta.IsNoMatchError(err) && errors.Unwrap(err) == nil
}

// mayBeWritten reports whether a request failed for want of an answer.
func mayBeWritten(err error) bool {
	var underway interface{ MayBeWritten() bool }
	return errors.As(err, &underway) && underway.MayBeWritten()
}

// inTrouble tells that the server failed, which is no answer.
func inTrouble(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}
