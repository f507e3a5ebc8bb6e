package noop

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
)

// BySchema reports whether applying the manifest is a no-op, where [Evaluate] leaves a
// doubt that the kind's schema may settle: it shows which values are one field with
// everything in them, what the server fills in inside those, and which texts and numbers
// are quantities. The schema is fetched only if it may settle the matter; it may be nil.
//
// The schema has to say what the one says by which the server would read the manifest now,
// with its references resolved. It may lack defaults of Kubernetes' own kinds: the server
// sets these whenever it reads an object, so that none is ever still to come.
func BySchema(live, manifest *unstructured.Unstructured, manager string, schema func() openapi.Type) bool {
	j := &evaluation{live: live.Object, manifest: manifest.Object, manager: manager}
	if !j.comparable() {
		return false
	}
	entries, err := managedfields.Entries(live)
	if err != nil || len(entries) == 0 {
		return false
	}
	j.setEntries(entries)
	j.types = &openapi.Schema{Fetch: schema}
	return j.settled()
}
