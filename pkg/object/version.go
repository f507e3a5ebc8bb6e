package object

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// AtVersion returns the object with this resource version. All of it but that is shared.
func AtVersion(u *unstructured.Unstructured, version string) *unstructured.Unstructured {
	return withMetadata(u, func(metadata map[string]any) { metadata["resourceVersion"] = version })
}

// WithLabel returns the object with the label. All of it but that is shared.
func WithLabel(u *unstructured.Unstructured, key, value string) *unstructured.Unstructured {
	return withMetadata(u, func(metadata map[string]any) {
		labels, _ := metadata["labels"].(map[string]any)
		if labels = maps.Clone(labels); labels == nil {
			labels = map[string]any{}
		}
		labels[key] = value
		metadata["labels"] = labels
	})
}

func withMetadata(u *unstructured.Unstructured, change func(map[string]any)) *unstructured.Unstructured {
	fields := maps.Clone(u.Object)
	metadata, _ := fields["metadata"].(map[string]any)
	if metadata = maps.Clone(metadata); metadata == nil {
		metadata = map[string]any{}
	}
	change(metadata)
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
