package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

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

// Object reads an answer that is to be an object of the kind by the name and in
// the namespace of ref.
func Object(body []byte, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	u, err := Any(body)
	if err != nil {
		return nil, err
	}
	if u.GroupVersionKind() != kind.GVK {
		return nil, Wrong("it is %s, not a %s", Describe(u), kind.GVK.Kind)
	}
	return u, Check(u, kind, ref)
}

// Metadata is Object for an answer that may be the object's metadata alone.
func Metadata(body []byte, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
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
	switch {
	case u.GetKind() == "Status" && text != "":
		return fmt.Sprintf("a Status (%s)", text)
	case u.GetKind() == "":
		return "an object without kind"
	case u.GetAPIVersion() == "":
		return "a " + u.GetKind() + " without apiVersion"
	default:
		return "a " + u.GetKind() + " in " + u.GetAPIVersion()
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
	case u.GetUID() == "" && stored(kind):
		return Wrong("the %s %s in it has no UID", kind.GVK.Kind, u.GetName())
	}
	return nil
}

// stored reports whether the server stores objects of the kind. Objects that an
// aggregated API computes on each read, such as metrics, have neither a UID nor a
// version. A kind of which only the name is known counts as stored.
func stored(kind object.Kind) bool {
	return kind.Verbs == nil || slices.ContainsFunc(kind.Verbs, func(verb string) bool {
		switch verb {
		case "create", "update", "patch", "delete":
			return true
		}
		return false
	})
}

// versioned reports whether lists of the kind state the version to watch from.
func versioned(kind object.Kind) bool {
	return kind.Verbs == nil || slices.Contains(kind.Verbs, "watch")
}

// Review reads the answer to a question for a permission.
func Review(body []byte, kind string) (allowed bool, err error) {
	var review struct {
		metav1.TypeMeta
		Status *struct{ Allowed *bool }
	}
	switch err := json.Unmarshal(body, &review); {
	case err != nil:
		return false, Garbled(body)
	case review.Kind != kind, review.Status == nil, review.Status.Allowed == nil:
		return false, Wrong("it is not a %s with a status", kind)
	}
	return *review.Status.Allowed, nil
}
