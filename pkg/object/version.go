package object

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Newer reports whether one resource version of a resource surely comes after another
// (KEP-5504). It is false for versions that are not numbers, which only foreign
// servers return.
func Newer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}
