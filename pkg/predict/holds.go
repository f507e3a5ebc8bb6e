package predict

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// HoldsMore reports whether deleting an object of the kind also deletes data, or other
// people's objects.
func HoldsMore(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "PersistentVolume"},
		schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	default:
		return false
	}
}

// TakesVolumes reports whether the claims of a StatefulSet go with it, and the data with
// them: its retention policy says so.
func TakesVolumes(live *unstructured.Unstructured) bool {
	if live.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		return false
	}
	whenDeleted, _, _ := unstructured.NestedString(live.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
	return whenDeleted == "Delete"
}
