package managedfields

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// OwnersOfUnstated returns which of the entries' owners hold anything of an item
// of a list that the manifest does not state, sorted.
func OwnersOfUnstated(entries []Entry, list Path, manifest *unstructured.Unstructured) []Owner {
	var owners []Owner
	for _, e := range entries {
		found := false
		e.Fields.Iterate(func(fp fieldpath.Path) {
			if found || len(fp) <= len(list) || fp[len(list)].FieldName != nil || !Path(fp).HasPrefix(list) {
				return
			}
			_, stated := Path(fp[:len(list)+1]).Get(manifest.Object)
			found = !stated
		})
		if found {
			owners = append(owners, e.Owner)
		}
	}
	slices.SortFunc(owners, Owner.Compare)
	return owners
}
