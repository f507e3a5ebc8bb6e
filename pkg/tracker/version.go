package tracker

import "k8s.io/apimachinery/pkg/util/resourceversion"

// newer tells whether a version of a resource comes after another one (KEP-5504).
// Of versions that are not numbers, as only foreign servers give them, one that
// differs counts as newer, for it came later.
func newer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	if err != nil {
		return version != than
	}
	return order > 0
}

// provenOlder tells whether a version surely comes before another one.
func provenOlder(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}
