package predict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// carry returns the item with the label that stays on its object: the apply would remove the
// label, because we own it and the manifest does not state it.
func (p Predictor) carry(item plan.Item, live *unstructured.Unstructured, adopted []managedfields.Owner) (plan.Item, error) {
	value, labelled := live.GetLabels()[p.Carry]
	if p.Carry == "" || !labelled {
		return item, nil
	}
	if _, stated := item.Object.GetLabels()[p.Carry]; stated {
		return item, nil
	}
	entries, err := managedfields.Entries(live)
	if err != nil {
		return item, err
	}
	ours := func(o managedfields.Owner) bool {
		return slices.Contains(adopted, o) || o.Manager == p.Manager && o.Operation == managedfields.Apply && o.Subresource == ""
	}
	if slices.ContainsFunc(managedfields.Owners(entries, fieldpath.Field("metadata", "labels", p.Carry)), ours) {
		item.Object = object.WithLabel(item.Object, p.Carry, value)
	}
	return item, nil
}
