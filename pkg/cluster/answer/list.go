package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// list holds the fields of a list besides its items.
type list struct {
	metav1.TypeMeta
	metav1.ListMeta
	// items: the list has items, or says that there are none.
	items bool
	// message is that of a Status which comes instead.
	message string
}

// List reads a list of the kind and calls see for each item, holding only one of them at
// a time. It passes on no item before the list has stated its kind: if a list does so
// after its items, they are held until then.
func List(body io.Reader, kind object.Kind, see func(item []byte) error) (metav1.ListMeta, error) {
	l, err := readList(body, func(l list) error { return l.fits(kind) }, see)
	if err == nil {
		err = l.whole(kind)
	}
	return l.ListMeta, err
}

func readList(body io.Reader, fits func(list) error, see func(item []byte) error) (list, error) {
	from := &remembering{Reader: body}
	// It reads an item once to find its end, which encoding/json does twice, and overlooks
	// as much.
	dec := jsontext.NewDecoder(from, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	l := listReader{dec: dec, fits: fits, see: see}
	err := l.read()
	if from.err != nil && errors.Is(err, from.err) {
		err = from.err // and not how the decoder calls it
	} else {
		err = Cut(err)
	}
	if err == nil {
		err = l.settle()
	}
	for _, item := range l.held {
		if err == nil {
			err = see(item)
		}
	}
	return l.list, err
}

// remembering is a reader that keeps the error with which it broke off.
type remembering struct {
	io.Reader
	err error
}

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

type listReader struct {
	list
	dec  *jsontext.Decoder
	fits func(list) error
	see  func([]byte) error

	// settled: the list has stated its kind, and it matches.
	settled bool
	held    []json.RawMessage
}

func (l *listReader) settle() error {
	if l.settled {
		return nil
	}
	l.settled = true
	return l.fits(l.list)
}

func (l *listReader) read() error {
	first, err := l.dec.ReadToken()
	if err != nil {
		return err
	}
	if first.Kind() != jsontext.KindBeginObject {
		return Wrong("it is %s, not a list", called(first.Kind()))
	}
	for l.more() {
		name, err := l.dec.ReadToken()
		if err != nil {
			return err
		}
		switch name.String() {
		case "kind":
			err = l.decode(&l.Kind)
		case "apiVersion":
			err = l.decode(&l.APIVersion)
		case "message":
			err = l.decode(&l.message)
		case "metadata":
			err = l.decode(&l.ListMeta)
		case "items":
			err = l.readItems()
		default:
			err = l.dec.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	return l.end()
}

// more reports whether the object or the list that is being read goes on.
func (l *listReader) more() bool {
	// It is invalid at the end of the stream as well, which reading it says.
	next := l.dec.PeekKind()
	return next != jsontext.KindEndObject && next != jsontext.KindEndArray && next != jsontext.KindInvalid
}

func (l *listReader) decode(into any) error {
	text, err := l.dec.ReadValue()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// end reads the end of an object or of a list, after which there is no more.
func (l *listReader) end() error {
	_, err := l.dec.ReadToken()
	return err
}

// called is what people call a JSON value.
func called(kind jsontext.Kind) string {
	switch kind {
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "an array"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	default:
		return kind.String() // null, true or false
	}
}

func (l *listReader) readItems() error {
	if l.Kind != "" && l.APIVersion != "" {
		if err := l.settle(); err != nil {
			return err
		}
	}
	l.items = true
	first, err := l.dec.ReadToken()
	if err != nil || first.Kind() == jsontext.KindNull { // An empty list may be null.
		return err
	}
	if first.Kind() != jsontext.KindBeginArray {
		return Wrong("the items of a list are %s, not an array", called(first.Kind()))
	}
	for l.more() {
		item, err := l.dec.ReadValue()
		if err != nil {
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
	return l.end()
}

// fits rejects a list of another kind.
func (l list) fits(kind object.Kind) error {
	gv := kind.GVK.GroupVersion().String()
	switch {
	case l.Kind == "PartialObjectMetadataList" && l.GroupVersionKind().Group == metav1.GroupName:
		return nil
	case l.APIVersion == gv && l.Kind == kind.GVK.Kind+"List":
		return nil
	case l.APIVersion == gv && l.Kind != "" && l.Kind != kind.GVK.Kind && !KubernetesOwn(kind.GVK.Group):
		return nil // A definition may call its lists as it likes.
	case l.Kind == "":
		return Wrong("it is not a list of %s", kind.GVR().GroupResource())
	case l.Kind == "Status":
		return Wrong("it is a Status (%s)", l.message)
	default:
		return Wrong("it is a %s in %s, not a list of %s", l.Kind, l.APIVersion, kind.GVR().GroupResource())
	}
}

// whole rejects a list that lacks a required part.
func (l list) whole(kind object.Kind) error {
	what := kind.GVR().GroupResource()
	switch {
	case !l.items:
		return Wrong("a list of %s without items", what)
	case l.ResourceVersion == "" && versioned(kind):
		return Wrong("a list of %s without resourceVersion", what)
	}
	return nil
}

// KubernetesOwn reports whether a group's name is reserved for Kubernetes. What is served
// in those groups changes with the version of the server, or with definitions that are
// installed once and stay.
func KubernetesOwn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// Cut turns the early end of a stream into an error of the connection, and invalid JSON
// into a wrong answer.
func Cut(err error) error {
	var syntax *json.SyntaxError
	var form *json.UnmarshalTypeError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case errors.As(err, &syntactic):
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return io.ErrUnexpectedEOF
		}
		return Wrong("it cannot be read: %v", syntactic.Err)
	case errors.As(err, &syntax), errors.As(err, &form):
		return Wrong("it cannot be read: %v", err)
	}
	return err
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

// NameOf reads no further than the name, which mostly is at the beginning.
func NameOf(item []byte) (string, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(item), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for _, field := range []string{"metadata", "name"} {
		if err := seek(dec, field); err != nil {
			return "", Cut(err)
		}
	}
	name, err := dec.ReadToken()
	if err != nil {
		return "", Cut(err)
	}
	if name.Kind() != jsontext.KindString {
		return "", Wrong("the name of an item of a list is %s", called(name.Kind()))
	}
	return name.String(), nil
}

// seek goes into an object, up to the value of a field.
func seek(dec *jsontext.Decoder, field string) error {
	if kind := dec.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindInvalid {
		return Wrong("an item of a list has %s where its %s should be", called(kind), field)
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() == jsontext.KindString {
		name, err := dec.ReadToken()
		if err != nil || name.String() == field {
			return err
		}
		if err := dec.SkipValue(); err != nil {
			return err
		}
	}
	return Wrong("an item of a list has no %s", field)
}
