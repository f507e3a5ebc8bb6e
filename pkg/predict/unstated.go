package predict

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
)

// OwnersOfUnstated returns which of the entries' owners hold anything of an item
// of a list that the manifest does not state, sorted.
func OwnersOfUnstated(entries []managedfields.Entry, list fieldpath.Path, manifest *unstructured.Unstructured) []managedfields.Owner {
	var owners []managedfields.Owner
	for _, e := range entries {
		found := false
		fieldpath.Each(e.Fields, func(p fieldpath.Path) {
			if found || len(p) <= len(list) || p[len(list)].FieldName != nil || !p.HasPrefix(list) {
				return
			}
			_, stated := p[:len(list)+1].Get(manifest.Object)
			found = !stated
		})
		if found {
			owners = append(owners, e.Owner)
		}
	}
	slices.SortFunc(owners, managedfields.Owner.Compare)
	return owners
}
