package predict

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// Unseen returns what an apply changed in the object besides the fields that the manager owns, such
// as an item that the server added. It returns nothing if another client wrote the object between
// the read and the apply, because then the changes may be that client's. The status is left out.
func (p Predictor) Unseen(in *Prediction, answer *unstructured.Unstructured) []managedfields.Change {
	if in.Live == nil || answer == nil || !reflect.DeepEqual(p.othersOf(in.Live), p.othersOf(answer)) {
		return nil
	}
	set := fieldpath.NewSet()
	for _, u := range []*unstructured.Unstructured{in.Live, answer} {
		entries, err := managedfields.Entries(u)
		if err != nil {
			return nil
		}
		for _, e := range entries {
			set = set.Union(e.Fields)
		}
	}
	return managedfields.Compare(withoutStatus(in.Live), withoutStatus(answer), set)
}

// Regenerated reports whether a write changed the object's generation, and no other client wrote the
// object meanwhile. The content may be the same: some kinds distinguish an empty list from none. A
// dry run shows a new generation for some kinds even if nothing would be written.
func (p Predictor) Regenerated(in *Prediction, answer *unstructured.Unstructured) bool {
	return in.Live != nil && answer != nil && in.Live.GetResourceVersion() != answer.GetResourceVersion() &&
		in.Live.GetGeneration() != answer.GetGeneration() && reflect.DeepEqual(p.othersOf(in.Live), p.othersOf(answer))
}

func (p Predictor) othersOf(u *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(u.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == p.Manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
	})
}

func withoutStatus(u *unstructured.Unstructured) map[string]any {
	out := maps.Clone(content(u))
	delete(out, "status")
	return out
}
