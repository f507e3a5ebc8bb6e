package predict

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// IsChangeable reports whether a field of an existing object may change although the server
// names all of .spec when one that may not does. Kubernetes' own validation lists them:
// https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/
// https://kubernetes.io/docs/concepts/workloads/pods/#pod-update-and-replacement
func IsChangeable(kind schema.GroupKind, path fieldpath.Path) bool {
	if len(path) < 2 || path[1].FieldName == nil {
		return false
	}
	switch name := *path[1].FieldName; kind {
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		switch name {
		case "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
			"persistentVolumeClaimRetentionPolicy", "minReadySeconds":
			return true
		}
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return name == "resources" || name == "volumeAttributesClassName"
	case schema.GroupKind{Kind: "Pod"}:
		if name == "containers" || name == "initContainers" {
			last := path[len(path)-1].FieldName
			return last != nil && *last == "image"
		}
		return name == "activeDeadlineSeconds" || name == "terminationGracePeriodSeconds" || name == "tolerations"
	}
	return false
}
