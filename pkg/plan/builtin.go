package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// BuiltinKinds returns what is known without a server of the kinds in Kubernetes' own
// groups: whether they have a namespace. It does not imply that a server has the
// kind, in this version or any other. Kinds of other groups are left out.
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

// withoutNamespace returns the kinds of one of Kubernetes' own groups that have no
// namespace. All others have one.
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
