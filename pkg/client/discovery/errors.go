package discovery

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// NoKindError says that the server does not serve a kind.
type NoKindError struct {
	GVK  schema.GroupVersionKind
	Near string
	// Unkept is set if the server serves the kind but stores no objects of it.
	Unkept bool
	Err    error
}

// NoneOf returns the error for a kind whose objects can no longer be read.
func NoneOf(kind object.Kind) *NoKindError { return &NoKindError{GVK: kind.GVK, Unkept: !kind.Kept()} }

func (e *NoKindError) Error() string {
	if e.Unkept {
		return fmt.Sprintf("the server stores no objects of the kind %s in %s", e.GVK.Kind, e.GVK.GroupVersion())
	}
	text := fmt.Sprintf("the server does not serve the kind %s in %s", e.GVK.Kind, e.GVK.GroupVersion())
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *NoKindError) Unwrap() error { return e.Err }

// Is makes meta.IsNoMatchError return true for the error.
func (e *NoKindError) Is(target error) bool {
	_, ok := target.(*meta.NoKindMatchError)
	return ok
}

// Similar returns the similar kind, if there is one.
func (e *NoKindError) Similar() string { return e.Near }

func (e *NoKindError) Hint() string {
	if known, ok := errors.AsType[*object.HintedError](e.Err); ok {
		return known.Hint()
	}
	if e.Near != "" {
		return "did you mean kind: " + e.Near + "?"
	}
	if e.Unkept {
		return "the server only answers requests to create such objects, so there is nothing to read or delete"
	}
	if e.Err != nil {
		return apiHint(e.GVK)
	}
	if scheme.Scheme.IsGroupRegistered(e.GVK.Group) { // Kubernetes' own kinds have no CRDs.
		return "see what this version of Kubernetes serves: " + command.Kubectl("api-resources", "--api-group="+e.GVK.Group)
	}
	return "install its CRD, add the CRD to the set, or use apply --await-kinds to wait for an operator that installs it"
}

// KindUnknownError says that the server behind the kind's API does not answer. Only objects of that
// API are affected.
type KindUnknownError struct {
	GVK schema.GroupVersionKind
	// Err is the error of the request, or the reason why the server's responses are inconclusive.
	// It is never nil.
	Err error
}

func (e *KindUnknownError) Error() string {
	why := e.Err.Error()
	if code := transport.StatusOf(e.Err).Code; code != 0 {
		why = fmt.Sprintf("the API %s returned %d", e.GVK.GroupVersion(), code)
	}
	return fmt.Sprintf("cannot tell whether the server serves the kind %s: %s", e.GVK.Kind, why)
}

// Unreachable marks an error that says nothing about the object.
func (e *KindUnknownError) Unreachable() bool { return true }

func (e *KindUnknownError) Hint() string { return apiHint(e.GVK) }

func apiHint(gvk schema.GroupVersionKind) string {
	return fmt.Sprintf("see: %s apiservice %s.%s", command.Kubectl("get"), gvk.Version, gvk.Group)
}

// NoTypeError says that the server serves no type of that name.
type NoTypeError struct {
	Type string
	Near []string
	Err  error
}

func (e *NoTypeError) Error() string {
	if unreported, ok := errors.AsType[*KindUnknownError](e.Err); ok {
		return unreported.Error()
	}
	text := fmt.Sprintf("the server does not serve the type %q", e.Type)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *NoTypeError) Unwrap() error { return e.Err }

// Is makes meta.IsNoMatchError return true for the error.
func (e *NoTypeError) Is(target error) bool {
	_, ok := target.(*meta.NoResourceMatchError)
	return ok
}

func (e *NoTypeError) Hint() string {
	if unreported, ok := errors.AsType[*KindUnknownError](e.Err); ok {
		return unreported.Hint()
	}
	if known, ok := errors.AsType[*object.HintedError](e.Err); ok {
		return known.Hint()
	}
	if len(e.Near) == 0 {
		return "to name an object, write TYPE/NAME; " + command.Kubectl("api-resources") + " lists the types"
	}
	return "did you mean " + strings.Join(e.Near, " or ") + "?"
}

// NotEstablishedError says that the API server does not accept a CRD.
type NotEstablishedError struct {
	Definition string
	Message    string
}

func (e *NotEstablishedError) Error() string {
	return fmt.Sprintf("customresourcedefinition.apiextensions.k8s.io/%s is not established: %s", e.Definition, e.Message)
}

func (e *NotEstablishedError) Hint() string {
	return "another CRD has one of its names; see: " + command.Kubectl("get") + " crd"
}

func ofKind(gvk schema.GroupVersionKind, err error) error {
	if unreported(err) {
		return &KindUnknownError{GVK: gvk, Err: err}
	}
	return err
}

// ofServer adds a hint if the server did not answer.
func ofServer(err error) error {
	if unreported(err) {
		return transport.Unanswered("see: "+command.Kubectl("get", "--raw", "/apis")+"; --server-timeout=5m keeps trying longer",
			"cannot find out which kinds the server serves: %w", err)
	}
	return err
}

// unreported reports whether the server is reachable but did not answer the question.
func unreported(err error) bool {
	if errors.Is(err, transport.ErrNoAnswerInTime) {
		return !errors.As(err, new(*transport.UnreachableError))
	}
	return transport.StatusOf(err).Code >= http.StatusInternalServerError
}
