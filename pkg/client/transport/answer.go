// Package transport distinguishes an answer of an API server from what a proxy, a gateway or
// a cache puts in its place: a success is no proof (edge case 85). It decodes objects and
// lists, and rejects those that do not match the request.
//
// It sends nothing and remembers nothing.
package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// WrongError says that a request succeeded, but the answer is not what was asked for. A
// proxy or a gateway gives such answers; an API server does not. It says nothing about
// the object, so it counts as no answer (edge case 85).
type WrongError struct{ what string }

func (e *WrongError) Error() string { return "the answer is not what was asked for: " + e.what }

// Hint says where to look.
func (e *WrongError) Hint() string { return Hint }

// Hint says where to look for what broke an answer off, or replaced it.
const Hint = "something on the way may cut it off or answer in its place: a proxy, a load balancer, a limit on size or time"

// Wrong returns a *WrongError that describes the answer.
func Wrong(format string, args ...any) error { return &WrongError{fmt.Sprintf(format, args...)} }

// Object reads an answer that is to be an object of the kind by the name and in the
// namespace of ref, or its metadata alone.
func Object(body []byte, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	u, err := Any(body)
	if err != nil {
		return nil, err
	}
	if gvk := u.GroupVersionKind(); gvk != kind.GVK && (gvk.Group != metav1.GroupName || gvk.Kind != "PartialObjectMetadata") {
		return nil, Wrong("it is %s, not a %s", Describe(u), kind.GVK.Kind)
	}
	return u, Check(u, kind, ref)
}

// Any reads an answer that is to be an object, of whatever kind.
func Any(body []byte) (*unstructured.Unstructured, error) {
	var u unstructured.Unstructured
	// Whole numbers are int64, as everything in apimachinery expects them.
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &u.Object); err != nil {
		return nil, Garbled(body)
	}
	return &u, nil
}

// Garbled distinguishes an answer that ends too early from one that is not JSON.
func Garbled(body []byte) error {
	var any json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&any); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return Wrong("it is not a JSON object")
}

// Describe describes an unexpected answer.
func Describe(u *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(u.Object, "message")
	return describe(metav1.TypeMeta{Kind: u.GetKind(), APIVersion: u.GetAPIVersion()}, text)
}

func describe(t metav1.TypeMeta, message string) string {
	switch {
	case t.Kind == "Status" && message != "":
		return "a Status (" + message + ")"
	case t.Kind == "":
		return "an object without kind"
	case t.APIVersion == "":
		return "a " + t.Kind + " without apiVersion"
	default:
		return "a " + t.Kind + " in " + t.APIVersion
	}
}

// Check rejects an object that is not that of ref, or that was never stored: a request
// that comes back as its own answer has everything but a UID.
func Check(u *unstructured.Unstructured, kind object.Kind, ref object.Ref) error {
	switch {
	case u.GetName() == "":
		return Wrong("a %s without name", kind.GVK.Kind)
	case ref.Name != "" && u.GetName() != ref.Name:
		return Wrong("it is the %s %s, not %s", kind.GVK.Kind, u.GetName(), ref.Name)
	case kind.Namespaced && (u.GetNamespace() == "" || ref.Namespace != "" && u.GetNamespace() != ref.Namespace):
		return Wrong("it is the %s %s of namespace %q, not of %q", kind.GVK.Kind, u.GetName(), u.GetNamespace(), ref.Namespace)
	case u.GetUID() == "" && can(kind, "create", "update", "patch", "delete"): // else it may be computed on each read, as metrics are
		return Wrong("the %s %s in it has no UID", kind.GVK.Kind, u.GetName())
	}
	return nil
}
