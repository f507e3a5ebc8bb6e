package admission

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// subject is an object of a request. Its metadata is read together with the request; the
// rest is read once it is known to be of interest.
type subject struct {
	metadata metadata
	// err says what of the metadata could not be understood.
	err error
	// raw is the object without its managed fields; "null" or nothing where there
	// is none, as the new one of a DELETE (edge case 76).
	raw jsontext.Value
	// whole is where in the body the object is, and fields where in it the value of
	// its managed fields is, with the colon.
	whole, fields span
}

// UnmarshalJSONFrom reads the metadata and finds the rest.
func (s *subject) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	r := &metadataReader{Decoder: d}
	kind := d.PeekKind()
	started := d.InputOffset()
	if err := r.object(&s.metadata); err != nil {
		return err
	}
	s.whole, s.fields = span{started, d.InputOffset()}, r.fields
	if s.err = r.odd; kind == 'n' {
		s.err = nil
	}
	return nil
}

// of finds the object in the body.
func (s *subject) of(body []byte) {
	if s.fields == (span{}) {
		s.raw = trimmed(body[s.whole.from:s.whole.to])
		return
	}
	s.raw = trimmed(slices.Concat(body[s.whole.from:s.fields.from], []byte(":null"), body[s.fields.to:s.whole.to]))
}

// trimmed removes the colon before a value: it counts as part of the text between the
// name and the end of the value.
func trimmed(v []byte) jsontext.Value { return bytes.TrimLeft(v, ": \t\r\n") }

func (s *subject) isNull() bool { return len(s.raw) == 0 || s.raw.Kind() == 'n' }

// read reads the wanted fields of an object, never its managed fields; nil if there is no
// object. Integers are int64, as everywhere in Kubernetes.
func (s *subject) read(w *wanted) (*unstructured.Unstructured, error) {
	if s.isNull() {
		return nil, nil
	}
	r := reader{jsontext.NewDecoder(bytes.NewBuffer(s.raw), lenient())}
	value, err := r.value(w)
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("read object: it is %T, not a map", value)
	}
	return &unstructured.Unstructured{Object: object}, nil
}

// readBoth reads the wanted fields of two objects.
func readBoth(a, b *subject, w *wanted) (was, is *unstructured.Unstructured, err error) {
	if was, err = a.read(w); err != nil {
		return nil, nil, err
	}
	is, err = b.read(w)
	return was, is, err
}

// reader reads JSON into maps and lists.
type reader struct{ *jsontext.Decoder }

func (r reader) value(w *wanted) (any, error) {
	token, err := r.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return r.object(w)
	case '[':
		list := []any{}
		for r.PeekKind() != ']' {
			item, err := r.value(w)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := r.ReadToken()
		return list, err
	case '"':
		return token.String(), nil
	case '0':
		if i, err := strconv.ParseInt(token.String(), 10, 64); err == nil {
			return i, nil
		}
		return strconv.ParseFloat(token.String(), 64)
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

func (r reader) object(w *wanted) (any, error) {
	object := map[string]any{}
	for r.PeekKind() != '}' {
		token, err := r.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		below, ok := w.of(name)
		if !ok {
			if err := r.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if object[name], err = r.value(below); err != nil {
			return nil, err
		}
	}
	_, err := r.ReadToken()
	return object, err
}

// lenient are the options for text that the API server has written, and so has checked.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// nameOf returns what an object is called in warnings: Kind/namespace/name, with -
// for no namespace, and prefix* for a name that the API server is yet to make.
// (A Namespace is asked about as if it were in itself, hence the namespace of the
// object counts.)
func nameOf(kind string, m metadata) string {
	name := m.Name
	if name == "" && m.GenerateName != "" {
		name = m.GenerateName + "*"
	}
	part := func(s string, most int) string { return cmp.Or(text.TruncateMiddle(text.Printable(s), most), "-") }
	return part(kind, nameLength) + "/" + part(m.Namespace, nameLength+nameLength/2) + "/" + part(name, 2*nameLength)
}
