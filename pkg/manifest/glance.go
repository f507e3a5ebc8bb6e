package manifest

import (
	"bytes"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/glance"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// worthGlance is from how much text on decoding takes long enough for something else to be
	// begun meanwhile: some milliseconds.
	worthGlance = 128 << 10
	// mostGlance is how much text is held before any of it is decoded. What is larger has more
	// objects than a caller wants to know early.
	mostGlance = 32 << 20
)

// worthAGlance reports whether the inputs are to be glanced at before they are decoded: files
// that are there, and of a size that pays.
func worthAGlance(inputs []input) bool {
	var size int64
	for _, in := range inputs {
		if in.size == 0 {
			return false // It may be silent for minutes.
		}
		size += in.size
	}
	return worthGlance <= size && size <= mostGlance
}

// glanceAt returns what the objects of the documents are probably called.
func glanceAt(docs []*yamldoc.Document) []object.Manifest {
	var all []object.Manifest
	for _, d := range docs {
		if d.IsJSON() || bytes.Contains(d.Text, []byte(hookAnnotation)) {
			continue // A hook may not be meant.
		}
		for _, h := range glance.Heads(d.Text) {
			u := &unstructured.Unstructured{Object: map[string]any{}}
			u.SetAPIVersion(h.APIVersion)
			u.SetKind(h.Kind)
			u.SetName(h.Name)
			u.SetNamespace(h.Namespace)
			all = append(all, object.Manifest{Object: u, Source: d.Source()})
		}
	}
	return all
}
