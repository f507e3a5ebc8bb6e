package object

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// AtVersion returns the object with this resource version. All of it but that is shared.
func AtVersion(u *unstructured.Unstructured, version string) *unstructured.Unstructured {
	fields := maps.Clone(u.Object)
	metadata, _ := fields["metadata"].(map[string]any)
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	metadata["resourceVersion"] = version
	fields["metadata"] = metadata
	return &unstructured.Unstructured{Object: fields}
}

// Newer reports whether one resource version of a resource surely comes after another
// (KEP-5504). It is false for versions that are not numbers, which only foreign
// servers return.
func Newer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}
