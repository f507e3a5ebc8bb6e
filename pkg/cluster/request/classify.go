package request

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/answer"
)

// Class is what to do about a request that failed.
type Class int

const (
	// Final failures would come again.
	Final Class = iota
	// Busy failures may pass, as the server says, or as is known.
	Busy
	// Unexplained failures are internal errors of which the server does not say what
	// they are. A change of etcd's leader comes so, and so does a manifest with an unknown
	// field, or one that server-side apply cannot merge (k/k#113482).
	Unexplained
	// Lost requests got no answer, or none of an API server's.
	Lost
)

// Classify tells by type, code and reason, never by text.
func Classify(err error, r Request) Class {
	var (
		gone    *UnreachableError
		status  apierrors.APIStatus
		network net.Error
	)
	switch {
	case errors.As(err, &gone), errors.As(err, new(*refusedError)):
		return Final
	case errors.As(err, &status):
		return classifyStatus(status.Status(), r)
	case errors.As(err, new(*answer.WrongError)), errors.As(err, new(*lostError)), errors.As(err, new(*stalledError)), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.DeadlineExceeded):
		return Lost
	case errors.As(err, &network) && network.Timeout():
		return Lost
	default:
		return Final
	}
}

func classifyStatus(s metav1.Status, r Request) Class {
	switch s.Reason {
	case metav1.StatusReasonTooManyRequests, metav1.StatusReasonServerTimeout:
		return Busy
	case metav1.StatusReasonServiceUnavailable, metav1.StatusReasonTimeout, metav1.StatusReasonInternalError:
		return busyOrLost(s)
	case metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists:
		if mayPass(s, r) {
			return Busy
		}
		return Final
	case metav1.StatusReasonNotFound:
		if r.NewlyServed && unserved(s) {
			return Busy
		}
		return Final
	default:
	}
	switch s.Code {
	case http.StatusTooManyRequests:
		return Busy
	case http.StatusInternalServerError:
		return Unexplained
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return busyOrLost(s)
	default:
		return Final
	}
}

// busyOrLost tells an API server's answer from that of a load balancer which has
// no API server behind it. The latter does not know how to answer as one.
func busyOrLost(s metav1.Status) Class {
	switch s.Code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if foreign(s) {
			return Lost
		}
	}
	return Busy
}

// mayPass reports whether a conflict is between requests that got in each other's
// way, not between owners of a field or with the version that we named. The usage
// of a quota is counted with such a lock (k/k#67761), even for requests that are
// bound to a version of their own.
func mayPass(s metav1.Status, r Request) bool {
	if s.Details != nil && s.Details.Kind == "resourcequotas" {
		return true
	}
	return !r.Guarded && !hasCause(s, metav1.CauseTypeFieldManagerConflict)
}

// Unserved tells a path that the server does not know from an object that does
// not exist.
func Unserved(err error) bool { return unserved(StatusOf(err)) }

func unserved(s metav1.Status) bool {
	return s.Reason == metav1.StatusReasonNotFound && (s.Details == nil || s.Details.Name == "" || foreign(s))
}

// foreign tells that the answer was not a Status, as client-go notes it.
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

// noCode stands for the status code of a request that was not answered.
const noCode = -1

// codeOf returns the status code of an error.
func codeOf(err error) int32 {
	if s := StatusOf(err); s.Code != 0 {
		return s.Code
	}
	return noCode
}

// StatusOf returns the server's answer, empty where it gave none.
func StatusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}
	}
	return status.Status()
}

// detailsOf returns the details of a server's answer, empty where it gave none.
func detailsOf(err error) metav1.StatusDetails {
	if details := StatusOf(err).Details; details != nil {
		return *details
	}
	return metav1.StatusDetails{}
}

// pressure is what the end of a request tells the limiter.
func pressure(err error, r Request) signal {
	switch s := StatusOf(err); {
	case s.Code == http.StatusTooManyRequests, s.Code == http.StatusServiceUnavailable, s.Code == http.StatusGatewayTimeout:
		return tooMuch
	case err != nil && s.Code == 0, s.Code >= http.StatusInternalServerError, r.Bulk:
		return nothing
	default:
		return answered
	}
}

var (
	// ErrNoAnswerInTime says that the time for an answer is over.
	ErrNoAnswerInTime = errors.New("no answer in time")
	errCutShort       = errors.New("the answer ended too early")
)

// CauseOf returns what broke the connection.
func CauseOf(err error) error {
	var broken *lostError
	var page *pageError
	var wrong *answer.WrongError
	switch {
	case errors.As(err, &wrong):
		return wrong
	case errors.As(err, &page):
		return page
	case errors.As(err, &broken):
		return broken.cause
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCutShort
	case StatusOf(err).Code == 0:
		return ErrNoAnswerInTime
	default:
		return err
	}
}

// Denied tells that this way of asking is not open to us, whatever the object.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}
