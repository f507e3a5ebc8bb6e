package webhook

import (
	"cmp"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/json"
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
func readMetadata(raw []byte) (metadata, error) {
	var object struct {
		Metadata metadata `json:"metadata"`
	}
	if isNull(raw) {
		return object.Metadata, nil
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		return object.Metadata, fmt.Errorf("read metadata: %w", err)
	}
	return object.Metadata, nil
}

// readObject reads all of an object; nil where there is none.
func readObject(raw []byte) (*unstructured.Unstructured, error) {
	if isNull(raw) {
		return nil, nil
	}
	u := &unstructured.Unstructured{}
	if err := json.UnmarshalCaseSensitivePreserveInts(raw, &u.Object); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	return u, nil
}

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// nameOf returns what an object is called in warnings: Kind/namespace/name, with -
// for no namespace, and prefix* for a name that the API server is yet to make.
// (A Namespace is asked about as if it were in itself, hence the namespace of the
// object counts.)
func nameOf(kind string, request *admissionv1.AdmissionRequest, m metadata) string {
	name := cmp.Or(request.Name, m.Name)
	if name == "" && m.GenerateName != "" {
		name = m.GenerateName + "*"
	}
	return clean(middle(kind, nameLength) + "/" + cmp.Or(middle(m.Namespace, nameLength+nameLength/2), "-") + "/" + cmp.Or(middle(name, 2*nameLength), "-"))
}
