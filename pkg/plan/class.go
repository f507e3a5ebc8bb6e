package plan

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// class is the earliest part of a plan to which an object can belong.
type class int

const (
	crds class = iota
	// configuration contains objects to which other objects refer, and objects such as a
	// LimitRange, which affect how the server writes other objects.
	configuration
	// network is used only if a network plugin is in the set.
	network
	workloads
	// webhookConfigurations come after the servers of the webhooks. Otherwise the webhooks would
	// block the set.
	webhookConfigurations
	unknown
)

func (c class) String() string {
	switch c {
	case crds:
		return "CRDs and namespaces"
	case configuration:
		return "configuration"
	case network:
		return "network"
	case workloads:
		return "workloads"
	case webhookConfigurations:
		return "webhooks"
	case unknown:
		return "unknown kinds"
	}
	return ""
}

// classOf returns the class of a kind. It distinguishes only Kubernetes' own kinds. All other kinds
// are workloads.
func classOf(gk groupKind) class {
	switch gk.Group {
	case coreGroup:
		return classOfCore(gk.Kind)
	case "apiextensions.k8s.io":
		return crds
	case "admissionregistration.k8s.io", serviceGroup:
		return webhookConfigurations
	case rbacGroup, "storage.k8s.io", "scheduling.k8s.io", "node.k8s.io", "flowcontrol.apiserver.k8s.io":
		return configuration
	}
	switch gk {
	case groupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"},
		groupKind{Group: "networking.k8s.io", Kind: "IngressClass"},
		groupKind{Group: "networking.k8s.io", Kind: "ServiceCIDR"},
		groupKind{Group: "resource.k8s.io", Kind: "DeviceClass"},
		groupKind{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}:
		return configuration
	}
	return workloads
}

func classOfCore(kind string) class {
	switch kind {
	case "Namespace":
		return crds
	case "ServiceAccount", "ConfigMap", "Secret", "Service", "LimitRange", "ResourceQuota",
		"PersistentVolume", "PersistentVolumeClaim":
		return configuration
	}
	return workloads
}

// place is an item's position in the plan. All items with the same place form a phase.
type place struct {
	class class
	step  int
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.class, q.class), cmp.Compare(p.step, q.step))
}

func (p place) String() string {
	if p.step == 0 {
		return p.class.String()
	}
	return p.class.String() + " " + strconv.Itoa(p.step+1)
}

// BuiltinKinds returns those kinds of the manifests that are in Kubernetes' own groups. The server
// might not serve some of them.
func BuiltinKinds(manifests []object.Manifest) map[schema.GroupVersionKind]object.Kind {
	kinds := map[schema.GroupVersionKind]object.Kind{}
	for _, m := range manifests {
		gvk := m.Ref().GVK
		if object.IsBuiltIn(gvk.Group) {
			kinds[gvk] = object.Kind{GVK: gvk, Namespaced: !slices.Contains(withoutNamespace(gvk.Group), gvk.Kind)}
		}
	}
	return kinds
}

// withoutNamespace returns the cluster-scoped kinds of one of Kubernetes' own groups.
func withoutNamespace(group string) []string {
	switch group {
	case coreGroup:
		return []string{"ComponentStatus", "Namespace", "Node", "PersistentVolume"}
	case "policy", "extensions":
		return []string{"PodSecurityPolicy"}
	case "admissionregistration.k8s.io":
		return []string{
			"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
			"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
		}
	case "apiextensions.k8s.io":
		return []string{"CustomResourceDefinition"}
	case serviceGroup:
		return []string{"APIService"}
	case "authentication.k8s.io":
		return []string{"SelfSubjectReview", "TokenReview"}
	case "authorization.k8s.io":
		return []string{"SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"}
	case "certificates.k8s.io":
		return []string{"CertificateSigningRequest", "ClusterTrustBundle"}
	case "flowcontrol.apiserver.k8s.io":
		return []string{"FlowSchema", "PriorityLevelConfiguration"}
	case "internal.apiserver.k8s.io":
		return []string{"StorageVersion"}
	case "networking.k8s.io":
		return []string{"ClusterCIDR", "IPAddress", "IngressClass", "ServiceCIDR"}
	case "node.k8s.io":
		return []string{"RuntimeClass"}
	case rbacGroup:
		return []string{"ClusterRole", "ClusterRoleBinding"}
	case "resource.k8s.io":
		return []string{"DeviceClass", "DeviceTaintRule", "ResourceClass", "ResourceSlice"}
	case "scheduling.k8s.io":
		return []string{"PriorityClass"}
	case "storage.k8s.io":
		return []string{"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"}
	case "storagemigration.k8s.io":
		return []string{"StorageVersionMigration"}
	}
	return nil
}

type groupKind = schema.GroupKind

const (
	coreGroup    = ""
	rbacGroup    = "rbac.authorization.k8s.io"
	serviceGroup = "apiregistration.k8s.io"
)

func text(fields map[string]any, key string) string {
	s, _ := fields[key].(string)
	return s
}

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

// annotation returns the value of an annotation. It works even if other annotations are malformed.
func annotation(it Item, key string) string {
	metadata, _ := it.Object.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return text(annotations, key)
}

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
