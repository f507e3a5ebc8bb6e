package managedfields

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// SameOwners reports whether the same owners hold the same paths in both objects,
// regardless of when they last changed them. It is false for objects whose entries
// cannot be read.
func SameOwners(a, b *unstructured.Unstructured) bool {
	left, err := Entries(a)
	if err != nil {
		return false
	}
	right, err := Entries(b)
	if err != nil || len(left) != len(right) {
		return false
	}
	for _, l := range left {
		found := false
		for _, r := range right {
			if r.SameEntry(l.Owner) && r.APIVersion == l.APIVersion && r.Fields.Equals(l.Fields) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}
