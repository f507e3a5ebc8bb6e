package admission

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/warningtext"
)

// subject is an object in a request. Its metadata is always decoded; the rest is decoded only if
// needed.
type subject struct {
	metadata metadata
	err      error
	// raw is the object's JSON. It is "null" or empty if there is no object, such as the new object
	// of a DELETE (edge case 76).
	raw []byte
}

type metadata struct {
	Name            string                      `json:"name"`
	GenerateName    string                      `json:"generateName"`
	Namespace       string                      `json:"namespace"`
	UID             types.UID                   `json:"uid"`
	ResourceVersion string                      `json:"resourceVersion"`
	Generation      int64                       `json:"generation"`
	ManagedFields   []metav1.ManagedFieldsEntry `json:"managedFields"`
	Labels          map[string]string           `json:"labels"`
	Annotations     map[string]string           `json:"annotations"`
	// DeletionTimestamp is set if the object is being deleted already.
	DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
}

// UnmarshalJSON decodes the metadata. It returns no error, so that the rest of the review is always
// decoded.
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

func readBoth(a, b *subject) (was, is *unstructured.Unstructured, err error) {
	if was, err = a.read(); err != nil {
		return nil, nil, err
	}
	is, err = b.read()
	return was, is, err
}

// nameOf returns Kind/namespace/name for warnings, with - if there is no namespace, and prefix* for
// a name that the API server generates later. The namespace is taken from the object's metadata,
// because the review of a Namespace contains the Namespace's own name as the namespace.
func nameOf(kind string, m metadata) string {
	name := m.Name
	if name == "" && m.GenerateName != "" {
		name = m.GenerateName + "*"
	}
	return warningtext.Name(kind, m.Namespace, name)
}
