package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Class is a class of failures that are handled alike.
type Class int

const (
	// Final means that the failure would recur.
	Final Class = iota
	// Busy means that the failure is transient, such as a failure of a busy server, or a conflict
	// with a concurrent request.
	Busy
	// Unexplained means that the failure is an internal error without a reason. Such an error comes
	// from a change of etcd's leader, from an unknown field, or from a manifest that server-side
	// apply cannot merge (k/k#113482).
	Unexplained
	// Lost means that the request got no response from an API server.
	Lost
)

// Classify goes by the type, code and reason of the error. The only message that it reads is the one
// of [object.LacksServerSideApply].
func Classify(err error, r Request) Class {
	var status apierrors.APIStatus
	var network net.Error
	switch {
	case is[*UnreachableError](err), is[*refusedError](err):
		return Final
	case errors.As(err, &status):
		return classifyStatus(status.Status(), r)
	case is[*WrongError](err), is[*lostError](err), is[*stalledError](err), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Lost
	default:
		return Final
	}
}

// classifyStatus prefers the reason, which only an API server sets, to the code, which a proxy sets too.
func classifyStatus(s metav1.Status, r Request) Class {
	switch s.Reason {
	case metav1.StatusReasonTooManyRequests, metav1.StatusReasonServerTimeout:
		return Busy
	case metav1.StatusReasonInternalError:
		if object.LacksServerSideApply(s) {
			return Final
		}
		return busyOrLost(s)
	case metav1.StatusReasonServiceUnavailable, metav1.StatusReasonTimeout:
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

// A load balancer without a backend does not answer with a Status.
func busyOrLost(s metav1.Status) Class {
	switch s.Code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if foreign(s) {
			return Lost
		}
	}
	return Busy
}

// Quotas use optimistic locking (k/k#67761). So even a request bound to a version can conflict with
// a concurrent request.
func mayPass(s metav1.Status, r Request) bool {
	return isAbout("resourcequotas", s) || !r.Guarded && !hasCause(s, metav1.CauseTypeFieldManagerConflict)
}

func isAbout(resource string, s metav1.Status) bool {
	return s.Details != nil && s.Details.Kind == resource
}
