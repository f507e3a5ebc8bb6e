package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// listText is what is known of a list besides its items.
type listText struct {
	metav1.TypeMeta
	metav1.ListMeta
	// items: it has some, or says that it has none.
	items bool
	// message is what a Status says that comes instead.
	message string
}

// readList reads a list and calls see for each item, without holding more than one
// of them. No item is seen before fits agreed to what the list says it is: a list
// that says so behind its items is held until then.
func readList(body io.Reader, fits func(listText) error, see func(item []byte) error) (listText, error) {
	l := listReader{dec: json.NewDecoder(body), fits: fits, see: see}
	err := l.read()
	if err == nil {
		err = l.settle()
	}
	for _, item := range l.held {
		if err == nil {
			err = see(item)
		}
	}
	return l.listText, err
}

type listReader struct {
	listText
	dec  *json.Decoder
	fits func(listText) error
	see  func([]byte) error

	// settled: what it is was said, and fits.
	settled bool
	held    []json.RawMessage
}

func (l *listReader) settle() error {
	if l.settled {
		return nil
	}
	l.settled = true
	return l.fits(l.listText)
}

func (l *listReader) read() error {
	if err := expect(l.dec, json.Delim('{')); err != nil {
		return err
	}
	for l.dec.More() {
		name, err := l.dec.Token()
		if err != nil {
			return cut(err)
		}
		switch name {
		case "kind":
			err = l.dec.Decode(&l.Kind)
		case "apiVersion":
			err = l.dec.Decode(&l.APIVersion)
		case "message":
			err = l.dec.Decode(&l.message)
		case "metadata":
			err = l.dec.Decode(&l.ListMeta)
		case "items":
			err = l.readItems()
		default:
			err = l.dec.Decode(&json.RawMessage{})
		}
		if err != nil {
			return cut(err)
		}
	}
	return expect(l.dec, json.Delim('}'))
}

func (l *listReader) readItems() error {
	if l.Kind != "" && l.APIVersion != "" {
		if err := l.settle(); err != nil {
			return err
		}
	}
	l.items = true
	first, err := l.dec.Token()
	if err != nil || first == nil { // An empty list may be null.
		return err
	}
	if first != json.Delim('[') {
		return wrong("the items of a list are %v", first)
	}
	var item json.RawMessage
	for l.dec.More() {
		item = item[:0]
		if err := l.dec.Decode(&item); err != nil {
			return err
		}
		if !l.settled {
			l.held = append(l.held, bytes.Clone(item))
			continue
		}
		if err := l.see(item); err != nil {
			return err
		}
	}
	return expect(l.dec, json.Delim(']'))
}

func expect(dec *json.Decoder, want json.Delim) error {
	got, err := dec.Token()
	if err != nil {
		return cut(err)
	}
	if got != want {
		return wrong("%v where a list has %v", got, want)
	}
	return nil
}

// cut makes the end of a stream that ends too early an error of the connection, and
// what is no JSON an answer that was not asked for.
func cut(err error) error {
	var syntax *json.SyntaxError
	var form *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case errors.As(err, &syntax), errors.As(err, &form):
		return wrong("it cannot be read: %v", err)
	}
	return err
}

// decodeItem reads an item of a list, which does not say of what kind it is.
func decodeItem(item []byte, kind object.Kind, namespace string) (*unstructured.Unstructured, error) {
	u, err := decodeAny(item)
	if err != nil {
		return nil, err
	}
	if u.Object == nil {
		return nil, wrong("a list of %s with an empty item", kind.GVR().GroupResource())
	}
	u.SetGroupVersionKind(kind.GVK)
	return u, isThe(u, kind, object.Ref{Namespace: namespace})
}

// nameOf reads no further than the name, which mostly is at the beginning.
func nameOf(item []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(item))
	for _, field := range []string{"metadata", "name"} {
		if err := seek(dec, field); err != nil {
			return "", err
		}
	}
	var name string
	err := dec.Decode(&name)
	return name, cut(err)
}

// seek goes into an object, up to the value of a field.
func seek(dec *json.Decoder, field string) error {
	if err := expect(dec, json.Delim('{')); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil || name == field {
			return err
		}
		if err := dec.Decode(&json.RawMessage{}); err != nil {
			return err
		}
	}
	return wrong("an item of a list has no %s", field)
}
