package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

type groupKind = schema.GroupKind

const (
	coreGroup    = ""
	rbacGroup    = "rbac.authorization.k8s.io"
	serviceGroup = "apiregistration.k8s.io"
)

func crdKind() groupKind {
	return groupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// text returns a string field, or "".
func text(fields map[string]any, key string) string {
	s, _ := fields[key].(string)
	return s
}

// mapsOf returns the maps of a list.
func mapsOf(list any) []map[string]any {
	items, _ := list.([]any)
	var out []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// annotation returns one annotation, even if others are malformed.
func annotation(it Item, key string) string {
	metadata, _ := it.Object.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return text(annotations, key)
}

// podSpec returns the spec of the pods that an item runs; false if it runs none.
func podSpec(it Item) (map[string]any, bool) {
	at := []string{"spec", "template", "spec"}
	switch it.GVK.GroupKind() {
	case groupKind{Kind: "Pod"}:
		at = at[:1]
	case groupKind{Group: "batch", Kind: "CronJob"}:
		at = []string{"spec", "jobTemplate", "spec", "template", "spec"}
	case groupKind{Group: "batch", Kind: "Job"}, groupKind{Kind: "ReplicationController"},
		groupKind{Group: "apps", Kind: "Deployment"}, groupKind{Group: "apps", Kind: "DaemonSet"},
		groupKind{Group: "apps", Kind: "StatefulSet"}, groupKind{Group: "apps", Kind: "ReplicaSet"}:
	default:
		return nil, false
	}
	pod, ok, _ := unstructured.NestedFieldNoCopy(it.Object.Object, at...)
	spec, isMap := pod.(map[string]any)
	return spec, ok && isMap
}

func isRole(gk groupKind) bool {
	return gk.Group == rbacGroup && (gk.Kind == "Role" || gk.Kind == "ClusterRole")
}

func roleOf(it Item) object.Key {
	ref, _ := it.Object.Object["roleRef"].(map[string]any)
	key := object.Key{Group: rbacGroup, Kind: text(ref, "kind"), Name: text(ref, "name")}
	if key.Kind == "Role" {
		key.Namespace = it.Namespace
	}
	return key
}
