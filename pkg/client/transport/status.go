package transport

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unserved distinguishes a path that the server does not know from an object that does
// not exist.
func Unserved(err error) bool { return unserved(StatusOf(err)) }

func unserved(s metav1.Status) bool {
	return s.Reason == metav1.StatusReasonNotFound && (s.Details == nil || s.Details.Name == "" || foreign(s))
}

// foreign reports whether the answer was not a Status, which client-go records.
func foreign(s metav1.Status) bool {
	return hasCause(s, metav1.CauseTypeUnexpectedServerResponse)
}

func hasCause(s metav1.Status, cause metav1.CauseType) bool {
	if s.Details == nil {
		return false
	}
	for _, c := range s.Details.Causes {
		if c.Type == cause {
			return true
		}
	}
	return false
}

// noCode is the status code of a request that was not answered.
const noCode = -1

// codeOf returns the status code of an error.
func codeOf(err error) int32 {
	if s := StatusOf(err); s.Code != 0 {
		return s.Code
	}
	return noCode
}

// StatusOf returns the server's answer, empty if it gave none.
func StatusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}
	}
	return status.Status()
}

// detailsOf returns the details of a server's answer, empty if it gave none.
func detailsOf(err error) metav1.StatusDetails {
	if details := StatusOf(err).Details; details != nil {
		return *details
	}
	return metav1.StatusDetails{}
}

// Denied reports whether we may not send this kind of request at all, whatever the
// object.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}
