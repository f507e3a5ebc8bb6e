package rule

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Ref names an object of a kind.
func Ref(gvk schema.GroupVersionKind, namespace, name string) object.Ref {
	return object.Ref{GVK: gvk, Namespace: namespace, Name: name}
}

// The kinds that the rules know, at versions that every supported server serves.

// Core returns a kind of the core group, such as Pod.
func Core(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

// Apps returns a kind of the group apps.
func Apps(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
}

// Batch returns a kind of the group batch.
func Batch(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: kind}
}

// Storage returns a kind of the group storage.k8s.io.
func Storage(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: kind}
}

// Networking returns a kind of the group networking.k8s.io.
func Networking(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: kind}
}

// Admission returns a kind of the group admissionregistration.k8s.io.
func Admission(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind}
}

// EndpointSlice returns the kind that holds the endpoints of Services.
func EndpointSlice() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
}

// PriorityClass returns the kind that gives Pods their priority.
func PriorityClass() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}
}

// Definition returns the kind of object that defines a custom kind.
func Definition() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
}

// APIService returns the kind by which another server serves a group.
func APIService() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
}

// Autoscaler returns the kind that scales workloads by metrics.
func Autoscaler() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
}
