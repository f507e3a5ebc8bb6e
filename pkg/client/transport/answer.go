package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// WrongError says that a successful response does not belong to its request. A proxy or a gateway
// may send such a response. Like a lost response, it says nothing about the object (edge case 85).
type WrongError struct{ what string }

func (e *WrongError) Error() string { return "unexpected answer: " + e.what }

func (e *WrongError) Hint() string { return Hint }

// Hint says why a response may be truncated or wrong.
const Hint = "something between here and the API server may be truncating or replacing the answer: a proxy, a load balancer, a size or time limit"

// Wrong returns a *WrongError.
func Wrong(format string, args ...any) error { return &WrongError{fmt.Sprintf(format, args...)} }

// Object decodes an object of the kind, or its metadata.
func Object(body []byte, kind object.Kind) (*unstructured.Unstructured, error) {
	u, err := Any(body)
	if err != nil {
		return nil, err
	}
	if gvk := u.GroupVersionKind(); gvk != kind.GVK && (gvk.Group != metav1.GroupName || gvk.Kind != "PartialObjectMetadata") {
		return nil, Wrong("it is %s, not a %s", Describe(u), kind.GVK.Kind)
	}
	return u, Check(u, kind)
}

// Any decodes an object of any kind.
func Any(body []byte) (*unstructured.Unstructured, error) {
	var u unstructured.Unstructured
	// Whole numbers become int64, as apimachinery expects.
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &u.Object); err != nil {
		return nil, Garbled(body)
	}
	return &u, nil
}

// Garbled returns the error for a response that is not valid JSON.
func Garbled(body []byte) error {
	var any json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&any); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return Wrong("it is not a JSON object")
}

// Describe describes an unexpected response.
func Describe(u *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(u.Object, "message")
	return describe(metav1.TypeMeta{Kind: u.GetKind(), APIVersion: u.GetAPIVersion()}, text)
}

func describe(t metav1.TypeMeta, message string) string {
	switch {
	case t.Kind == "Status" && message != "":
		return "a Status (" + message + ")"
	case t.Kind == "":
		return "an object without a kind"
	case t.APIVersion == "":
		return "a " + t.Kind + " without apiVersion"
	default:
		return "a " + t.Kind + " in " + t.APIVersion
	}
}

// Check rejects an object without a name or UID. A proxy that echoes a request returns no UID.
// Objects of kinds that cannot be written, such as metrics, may have no UID.
func Check(u *unstructured.Unstructured, kind object.Kind) error {
	switch {
	case u.GetName() == "":
		return Wrong("a %s without a name", kind.GVK.Kind)
	case u.GetUID() == "" && can(kind, "create", "update", "patch", "delete"):
		return Wrong("the %s %s has no UID", kind.GVK.Kind, u.GetName())
	}
	return nil
}

// Unserved reports whether err says that the server does not serve the path. It is false if the
// server serves the path and only the object does not exist.
func Unserved(err error) bool { return unserved(StatusOf(err)) }

func unserved(s metav1.Status) bool {
	return s.Reason == metav1.StatusReasonNotFound && (s.Details == nil || s.Details.Name == "" || foreign(s))
}

func foreign(s metav1.Status) bool {
	return hasCause(s, metav1.CauseTypeUnexpectedServerResponse)
}

func hasCause(s metav1.Status, cause metav1.CauseType) bool {
	return s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == cause })
}

// StatusOf returns the server's Status, which may be empty.
func StatusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}
	}
	return status.Status()
}

// Denied reports whether a request failed because we have no permission for its verb, or because
// the kind does not support the verb.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// List decodes a list of the kind, or one page of it. It calls see with each item once it has read
// the whole response.
func List(body io.Reader, kind object.Kind, see func(item []byte) error) (metav1.ListMeta, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	var list struct {
		metav1.TypeMeta
		metav1.ListMeta
		message string
	}
	var items [][]byte
	from := Decoder(text)
	err = Members(from, func(field string) error {
		if field == "items" {
			return eachItem(from, func(item []byte) { items = append(items, item) }, text)
		}
		value, err := from.ReadValue()
		if err != nil {
			return err
		}
		switch field {
		case "kind":
			return json.Unmarshal(value, &list.Kind)
		case "apiVersion":
			return json.Unmarshal(value, &list.APIVersion)
		case "message":
			return json.Unmarshal(value, &list.message)
		case "metadata":
			return json.Unmarshal(value, &list.ListMeta)
		}
		return nil
	})
	switch {
	case err != nil:
		return list.ListMeta, Garbled(text)
	case !isList(list.TypeMeta, kind):
		return list.ListMeta, Wrong("it is %s, not a list of %s", describe(list.TypeMeta, list.message), kind.GVR().GroupResource())
	case list.ResourceVersion == "" && can(kind, "watch"):
		return list.ListMeta, Wrong("a list of %s without a resourceVersion", kind.GVR().GroupResource())
	}
	for _, item := range items {
		if err := see(item); err != nil {
			return list.ListMeta, err
		}
	}
	return list.ListMeta, nil
}

// Decoder returns a decoder that accepts duplicate names and invalid UTF-8, as encoding/json does.
func Decoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Members calls read for each member of the next value if that value is an object. If it is not,
// Members skips the value. read must consume the member's value.
func Members(from *jsontext.Decoder, read func(name string) error) error {
	if from.PeekKind() != '{' {
		_, err := from.ReadValue()
		return err
	}
	_, err := from.ReadToken()
	for err == nil && from.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = from.ReadToken(); err == nil {
			err = read(name.String())
		}
	}
	if err == nil {
		_, err = from.ReadToken()
	}
	return err
}

func eachItem(from *jsontext.Decoder, see func(item []byte), text []byte) error {
	first, err := from.ReadToken()
	if err != nil || first.Kind() == 'n' {
		return err
	}
	if first.Kind() != '[' {
		return errors.New("the items are not an array")
	}
	for from.PeekKind() != ']' {
		item, err := from.ReadValue()
		if err != nil {
			return err
		}
		end := int(from.InputOffset())
		see(text[end-len(item) : end]) // The decoder's next call overwrites item.
	}
	_, err = from.ReadToken()
	return err
}

// A CRD can give its list any kind.
func isList(t metav1.TypeMeta, kind object.Kind) bool {
	switch {
	case t.Kind == "PartialObjectMetadataList":
		return true
	case t.APIVersion != kind.GVK.GroupVersion().String():
		return false
	case object.IsBuiltIn(kind.GVK.Group):
		return t.Kind == kind.GVK.Kind+"List"
	default:
		return t.Kind != "" && t.Kind != kind.GVK.Kind
	}
}

// Item decodes an item of a list. The item may lack its kind.
func Item(item []byte, kind object.Kind) (*unstructured.Unstructured, error) {
	u, err := Any(item)
	if err != nil {
		return nil, err
	}
	if u.Object == nil {
		return nil, Wrong("a list of %s with an empty item", kind.GVR().GroupResource())
	}
	u.SetGroupVersionKind(kind.GVK)
	return u, Check(u, kind)
}

var errFound = errors.New("found")

// KeyOf returns the namespace and the name of an item. It does not decode the rest.
func KeyOf(item []byte) (key types.NamespacedName, err error) {
	from := Decoder(item)
	err = Members(from, func(field string) error {
		if field != "metadata" {
			_, err := from.ReadValue()
			return err
		}
		err := Members(from, func(field string) error {
			value, err := from.ReadValue()
			if err != nil {
				return err
			}
			switch field {
			case "name":
				_ = json.Unmarshal(value, &key.Name)
			case "namespace":
				_ = json.Unmarshal(value, &key.Namespace)
			}
			if key.Name != "" && key.Namespace != "" {
				return errFound
			}
			return nil
		})
		if err == nil && key.Name != "" {
			return errFound
		}
		return err
	})
	switch {
	case errors.Is(err, errFound):
		return key, nil
	case err != nil:
		return key, Garbled(item)
	}
	return key, Wrong("a list contains an item without a name")
}

func can(kind object.Kind, verbs ...string) bool {
	return kind.Verbs == nil || slices.ContainsFunc(verbs, func(verb string) bool { return slices.Contains(kind.Verbs, verb) })
}
