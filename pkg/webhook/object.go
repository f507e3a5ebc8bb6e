package webhook

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// metadata is what is always read of an object. Its field sets are kept as the
// bytes that they came as, which is what makes two of them comparable at once.
type metadata struct {
	Name            string                      `json:"name"`
	GenerateName    string                      `json:"generateName"`
	Namespace       string                      `json:"namespace"`
	UID             types.UID                   `json:"uid"`
	ResourceVersion string                      `json:"resourceVersion"`
	ManagedFields   []metav1.ManagedFieldsEntry `json:"managedFields"`
}

// readMetadata reads an object's metadata; there is none in a null object, as the
// new one of a DELETE (edge case 76).
func readMetadata(raw jsontext.Value) (metadata, error) {
	var object struct {
		Metadata metadata `json:"metadata"`
	}
	if isNull(raw) {
		return object.Metadata, nil
	}
	if err := json.Unmarshal(raw, &object, lenient()); err != nil {
		return object.Metadata, fmt.Errorf("read metadata: %w", err)
	}
	return object.Metadata, nil
}

// readObject reads all of an object but its managed fields; nil where there is
// none. Integers are int64, as everywhere in Kubernetes.
func readObject(raw jsontext.Value) (*unstructured.Unstructured, error) {
	if isNull(raw) {
		return nil, nil
	}
	r := reader{jsontext.NewDecoder(bytes.NewBuffer(raw), lenient())}
	value, err := r.value()
	if err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("read object: it is %T, not a map", value)
	}
	return &unstructured.Unstructured{Object: object}, nil
}

// reader reads JSON into maps and lists.
type reader struct{ *jsontext.Decoder }

func (r reader) value() (any, error) {
	token, err := r.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return r.object()
	case '[':
		list := []any{}
		for r.PeekKind() != ']' {
			item, err := r.value()
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

func (r reader) object() (any, error) {
	object := map[string]any{}
	for r.PeekKind() != '}' {
		token, err := r.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		if name == "managedFields" && r.StackPointer() == "/metadata/managedFields" {
			if err := r.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		if object[name], err = r.value(); err != nil {
			return nil, err
		}
	}
	_, err := r.ReadToken()
	return object, err
}

// lenient is how what the API server has written is read: it has checked it.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

func isNull(raw jsontext.Value) bool { return len(raw) == 0 || raw.Kind() == 'n' }

// nameOf returns what an object is called in warnings: Kind/namespace/name, with -
// for no namespace, and prefix* for a name that the API server is yet to make.
// (A Namespace is asked about as if it were in itself, hence the namespace of the
// object counts.)
func nameOf(kind string, m metadata) string {
	name := m.Name
	if name == "" && m.GenerateName != "" {
		name = m.GenerateName + "*"
	}
	namespace := middle(m.Namespace, nameLength+nameLength/2)
	return clean(middle(kind, nameLength) + "/" + cmp.Or(namespace, "-") + "/" + cmp.Or(middle(name, 2*nameLength), "-"))
}
