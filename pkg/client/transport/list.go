package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// List reads a list of the kind, or one page of it, and calls see for each item, in the
// text of the answer. It sees no item of another list.
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
		return list.ListMeta, Wrong("a list of %s without resourceVersion", kind.GVR().GroupResource())
	}
	for _, item := range items {
		if err := see(item); err != nil {
			return list.ListMeta, err
		}
	}
	return list.ListMeta, nil
}

// Decoder overlooks what a server may have written twice, or in another encoding, as
// encoding/json does. That reads a text twice to find the end of a value, or copies it.
func Decoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Members calls read for each member of the object that comes next, which has to read its
// value. A value that is not an object has no members.
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
		_, err = from.ReadToken() // the end of the object, or what is wrong there
	}
	return err
}

// eachItem calls see for each item of the array that comes next in a text; null has none.
func eachItem(from *jsontext.Decoder, see func(item []byte), text []byte) error {
	first, err := from.ReadToken()
	if err != nil || first.Kind() == 'n' {
		return err
	}
	if first.Kind() != '[' {
		return errors.New("the items are no array")
	}
	for from.PeekKind() != ']' {
		item, err := from.ReadValue()
		if err != nil {
			return err
		}
		end := int(from.InputOffset())
		see(text[end-len(item) : end]) // The decoder's result is valid until its next call.
	}
	_, err = from.ReadToken()
	return err
}

// isList reports whether a list is one of the kind.
func isList(t metav1.TypeMeta, kind object.Kind) bool {
	switch {
	case t.Kind == "PartialObjectMetadataList":
		return true
	case t.APIVersion != kind.GVK.GroupVersion().String():
		return false
	case KubernetesOwn(kind.GVK.Group):
		return t.Kind == kind.GVK.Kind+"List"
	default: // A definition may call its lists as it likes.
		return t.Kind != "" && t.Kind != kind.GVK.Kind
	}
}

// KubernetesOwn reports whether a group's name is reserved for Kubernetes. The kinds in those
// groups change with the version of the server, or with CRDs that are installed once and stay.
func KubernetesOwn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// Item reads an item of a list, which does not state its kind.
func Item(item []byte, kind object.Kind, namespace string) (*unstructured.Unstructured, error) {
	u, err := Any(item)
	if err != nil {
		return nil, err
	}
	if u.Object == nil {
		return nil, Wrong("a list of %s with an empty item", kind.GVR().GroupResource())
	}
	u.SetGroupVersionKind(kind.GVK)
	return u, Check(u, kind, object.Ref{Namespace: namespace})
}

// errFound ends the search for a name.
var errFound = errors.New("found")

// NameOf reads an item no further than its name, which mostly is at the beginning.
func NameOf(item []byte) (name string, err error) {
	from := Decoder(item)
	err = Members(from, func(field string) error {
		if field != "metadata" {
			_, err := from.ReadValue()
			return err
		}
		return Members(from, func(field string) error {
			value, err := from.ReadValue()
			if err == nil && field == "name" && json.Unmarshal(value, &name) == nil && name != "" {
				return errFound
			}
			return err
		})
	})
	switch {
	case errors.Is(err, errFound):
		return name, nil
	case err != nil:
		return "", Garbled(item)
	}
	return "", Wrong("an item of a list has no name")
}

// can reports whether the server allows one of the verbs for a kind. A kind of which only
// the name is known counts as one that has them all.
func can(kind object.Kind, verbs ...string) bool {
	return kind.Verbs == nil || slices.ContainsFunc(verbs, func(verb string) bool { return slices.Contains(kind.Verbs, verb) })
}
