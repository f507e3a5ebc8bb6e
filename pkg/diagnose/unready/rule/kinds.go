package rule

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Ref names an object of a kind.
func Ref(gvk schema.GroupVersionKind, namespace, name string) object.Ref {
	return object.Ref{GVK: gvk, Namespace: namespace, Name: name}
}

// The kinds that rules know, at the versions that every supported server serves.

// Core is a kind of the group without a name, such as Pod.
func Core(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

// Apps is a kind of the workloads.
func Apps(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: kind}
}

// Batch is a kind of what runs to its end.
func Batch(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: kind}
}

// Storage is a kind of the group storage.k8s.io.
func Storage(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: kind}
}

// Networking is a kind of the group networking.k8s.io.
func Networking(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: kind}
}

// Admission is a kind of the group admissionregistration.k8s.io.
func Admission(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind}
}

// EndpointSlice holds the endpoints of Services.
func EndpointSlice() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"}
}

// PriorityClass is named by Pods.
func PriorityClass() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}
}

// Definition is what defines a custom kind.
func Definition() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
}

// APIService is what has a group served by another server.
func APIService() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
}

// Autoscaler scales by metrics.
func Autoscaler() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
}
