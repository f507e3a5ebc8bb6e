package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Class says how to handle a failed request.
type Class int

const (
	// Final failures would recur.
	Final Class = iota
	// Busy failures may pass.
	Busy
	// Unexplained failures are internal errors without a reason. A change of etcd's leader looks
	// like that, and so does a manifest with an unknown field, or one that server-side apply cannot
	// merge (k/k#113482).
	Unexplained
	// Lost requests got no answer, or none from an API server.
	Lost
)

// Classify decides by type, code and reason, never by text.
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
	case errors.As(err, new(*WrongError)), errors.As(err, new(*lostError)), errors.As(err, new(*stalledError)), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.DeadlineExceeded):
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

// busyOrLost distinguishes an API server's answer from that of a load balancer without one, which
// is no proper Status.
func busyOrLost(s metav1.Status) Class {
	switch s.Code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if foreign(s) {
			return Lost
		}
	}
	return Busy
}

// mayPass reports whether a conflict is between requests that met by chance, and not about a
// field's owner or the version that we named. The usage of a quota is counted with such a lock
// (k/k#67761), even for requests bound to a version of their own.
func mayPass(s metav1.Status, r Request) bool {
	if s.Details != nil && s.Details.Kind == "resourcequotas" {
		return true
	}
	return !r.Guarded && !hasCause(s, metav1.CauseTypeFieldManagerConflict)
}
