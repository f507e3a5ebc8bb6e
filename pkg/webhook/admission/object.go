package admission

import (
	"bytes"
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// subject is an object of a request. Its metadata is read at once, and all of it only if
// its owners are of interest.
type subject struct {
	metadata metadata
	// err says what of the metadata could not be understood.
	err error
	// raw is "null" or nothing where there is no object, as the new one of a DELETE (edge
	// case 76).
	raw []byte
}

// metadata is the part of an object that is always read.
type metadata struct {
	Name            string                      `json:"name"`
	GenerateName    string                      `json:"generateName"`
	Namespace       string                      `json:"namespace"`
	UID             types.UID                   `json:"uid"`
	ResourceVersion string                      `json:"resourceVersion"`
	ManagedFields   []metav1.ManagedFieldsEntry `json:"managedFields"`
}

// UnmarshalJSON reads the metadata. It never fails, so that the rest of the review is read.
func (s *subject) UnmarshalJSON(raw []byte) error {
	s.raw = bytes.Clone(raw)
	if s.isNull() {
		return nil
	}
	var object struct {
		Metadata metadata `json:"metadata"`
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		s.err = fmt.Errorf("read metadata: %w", err)
	}
	s.metadata = object.Metadata
	return nil
}

func (s *subject) isNull() bool { return len(s.raw) == 0 || string(s.raw) == "null" }

// read reads an object; nil if there is none.
func (s *subject) read() (*unstructured.Unstructured, error) {
	if s.isNull() {
		return nil, nil
	}
	u := &unstructured.Unstructured{}
	if err := json.UnmarshalCaseSensitivePreserveInts(s.raw, &u.Object); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	return u, nil
}

// readBoth reads two objects.
func readBoth(a, b *subject) (was, is *unstructured.Unstructured, err error) {
	if was, err = a.read(); err != nil {
		return nil, nil, err
	}
	is, err = b.read()
	return was, is, err
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
