package managedfields

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// OwnersOfUnstated returns which of the entries' owners hold anything of an item
// of a list that the manifest does not state, sorted.
func OwnersOfUnstated(entries []Entry, list fieldpath.Path, manifest *unstructured.Unstructured) []Owner {
	var owners []Owner
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
	slices.SortFunc(owners, Owner.Compare)
	return owners
}
