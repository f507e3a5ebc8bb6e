package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// class is what to do about a request that failed.
type class int

const (
	// final: it would fail again.
	final class = iota
	// busy: the server says, or it is known, that it may pass.
	busy
	// unexplained: an internal error of which the server does not say what it is.
	// A change of etcd's leader comes so, and so does a manifest with an unknown
	// field, or one that server-side apply can not merge (k/k#113482).
	unexplained
	// lost: there was no answer, or none of an API server's.
	lost
)

// classify tells by type, code and reason, never by text.
func classify(err error, r request) class {
	var (
		gone    *UnreachableError
		status  apierrors.APIStatus
		network net.Error
	)
	switch {
	case errors.As(err, &gone):
		return final
	case errors.As(err, &status):
		return classifyStatus(status.Status(), r)
	case errors.As(err, new(*answerError)), errors.As(err, new(*lostError)), errors.As(err, new(*silentError)), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.DeadlineExceeded):
		return lost
	case errors.As(err, &network) && network.Timeout():
		return lost
	default:
		return final
	}
}

func classifyStatus(s metav1.Status, r request) class {
	switch s.Reason {
	case metav1.StatusReasonTooManyRequests, metav1.StatusReasonServerTimeout:
		return busy
	case metav1.StatusReasonServiceUnavailable, metav1.StatusReasonTimeout, metav1.StatusReasonInternalError:
		return busyOrLost(s)
	case metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists:
		if mayPass(s, r) {
			return busy
		}
		return final
	case metav1.StatusReasonNotFound:
		if r.young && unserved(s) {
			return busy
		}
		return final
	default:
	}
	switch s.Code {
	case http.StatusTooManyRequests:
		return busy
	case http.StatusInternalServerError:
		return unexplained
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return busyOrLost(s)
	default:
		return final
	}
}

// busyOrLost tells an API server's answer from that of a load balancer which has
// no API server behind it. The latter does not know how to answer as one.
func busyOrLost(s metav1.Status) class {
	switch s.Code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if foreign(s) {
			return lost
		}
	}
	return busy
}

// mayPass tells whether a conflict is between requests that got in each other's
// way, not between owners of a field or with the version that we named. The usage
// of a quota is counted with such a lock (k/k#67761), even for requests that are
// bound to a version of their own.
func mayPass(s metav1.Status, r request) bool {
	if s.Details != nil && s.Details.Kind == "resourcequotas" {
		return true
	}
	return !r.guarded && !hasCause(s, metav1.CauseTypeFieldManagerConflict)
}

// unserved tells a path that the server does not know from an object that does
// not exist.
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
	if s := statusOf(err); s.Code != 0 {
		return s.Code
	}
	return noCode
}

// statusOf returns the server's answer, empty where it gave none.
func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}
	}
	return status.Status()
}

// detailsOf returns the details of a server's answer, empty where it gave none.
func detailsOf(err error) metav1.StatusDetails {
	if details := statusOf(err).Details; details != nil {
		return *details
	}
	return metav1.StatusDetails{}
}

// pressure is what the end of a request tells the pace.
func pressure(err error, r request) sign {
	switch s := statusOf(err); {
	case s.Code == http.StatusTooManyRequests, s.Code == http.StatusServiceUnavailable, s.Code == http.StatusGatewayTimeout:
		return tooMuch
	case err != nil && s.Code == 0, s.Code >= http.StatusInternalServerError, r.bulk:
		return nothing
	default:
		return answered
	}
}

var (
	errNoAnswerInTime = errors.New("no answer in time")
	errCutShort       = errors.New("the answer ended too early")
)

// causeOf returns what broke the connection.
func causeOf(err error) error {
	var broken *lostError
	var page *pageError
	var answer *answerError
	switch {
	case errors.As(err, &answer):
		return answer
	case errors.As(err, &page):
		return page
	case errors.As(err, &broken):
		return broken.cause
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCutShort
	case statusOf(err).Code == 0:
		return errNoAnswerInTime
	default:
		return err
	}
}
