package local

// The markers +listType, +mapType and +structType are in the source of k8s.io/api, but not in
// compiled Go types. This file lists the markers of the stable versions in Kubernetes 1.36.
// TestTypesMatchPublishedSchemas compares all types with the schemas of an API server.

// listTypeOf returns the list type of a field. It knows only fields whose patch strategy does not
// imply the list type, and returns "" for others.
func listTypeOf(field string) string {
	switch field {
	case "admissionregistration.v1.ValidatingAdmissionPolicyStatus.conditions",
		"certificates.v1.CertificateSigningRequestStatus.conditions",
		"core.v1.ResourceRequirements.claims",
		"core.v1.ResourceStatus.resources",
		"resource.v1.AllocatedDeviceStatus.conditions",
		"resource.v1.ResourceClaimStatus.devices":
		return "map"
	case "admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec.validationActions",
		"batch.v1.PodFailurePolicyOnExitCodesRequirement.values",
		"batch.v1.UncountedTerminatedPods.failed",
		"batch.v1.UncountedTerminatedPods.succeeded",
		"core.v1.ContainerRestartRuleOnExitCodes.values",
		"core.v1.NodeAllocatableResourceClaimStatus.containers",
		"discovery.v1.Endpoint.addresses",
		"flowcontrol.v1.NonResourcePolicyRule.nonResourceURLs",
		"flowcontrol.v1.NonResourcePolicyRule.verbs",
		"flowcontrol.v1.ResourcePolicyRule.apiGroups",
		"flowcontrol.v1.ResourcePolicyRule.namespaces",
		"flowcontrol.v1.ResourcePolicyRule.resources",
		"flowcontrol.v1.ResourcePolicyRule.verbs",
		"storage.v1.CSIDriverSpec.volumeLifecycleModes":
		return "set"
	case "batch.v1.JobStatus.conditions",
		"core.v1.PodStatus.hostIPs",
		"core.v1.PodStatus.nodeAllocatableResourceClaimStatuses":
		return "atomic"
	}
	return ""
}

// keysOf returns the key fields of a list's items if one of them has a default. Then an item that
// omits the field has the default in its key.
func keysOf(field string) []string {
	switch field {
	case "core.v1.Container.ports", "core.v1.EphemeralContainer.ports":
		return []string{"containerPort", "protocol"}
	case "core.v1.ServiceSpec.ports":
		return []string{"port", "protocol"}
	case "core.v1.PodSpec.imagePullSecrets":
		return []string{"name"}
	}
	return nil
}

// keyDefaultOf returns the default of a key field. Kubernetes' other defaults are not needed.
func keyDefaultOf(field string) any {
	switch field {
	case "core.v1.ContainerPort.protocol", "core.v1.ServicePort.protocol":
		return "TCP"
	case "core.v1.LocalObjectReference.name":
		return ""
	}
	return nil
}

// mapTypeOf returns the map type of a field if it differs from the map type of the field's Go type,
// and "" otherwise.
func mapTypeOf(field string) string {
	switch field {
	case "core.v1.PodSpec.nodeSelector",
		"core.v1.ReplicationControllerSpec.selector",
		"core.v1.ServiceSpec.selector",
		"node.v1.Scheduling.nodeSelector":
		return "atomic"
	case "core.v1.PersistentVolumeSpec.claimRef":
		return "granular"
	}
	return ""
}

func isAtomicType(name string) bool {
	switch name {
	case "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
		"io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference",
		"io.k8s.api.admissionregistration.v1.MatchResources",
		"io.k8s.api.admissionregistration.v1.NamedRuleWithOperations",
		"io.k8s.api.admissionregistration.v1.ParamKind",
		"io.k8s.api.admissionregistration.v1.ParamRef",
		"io.k8s.api.admissionregistration.v1.Variable",
		"io.k8s.api.autoscaling.v1.CrossVersionObjectReference",
		"io.k8s.api.core.v1.ConfigMapKeySelector",
		"io.k8s.api.core.v1.EndpointAddress",
		"io.k8s.api.core.v1.EndpointPort",
		"io.k8s.api.core.v1.FileKeySelector",
		"io.k8s.api.core.v1.LocalObjectReference",
		"io.k8s.api.core.v1.NodeSelector",
		"io.k8s.api.core.v1.NodeSelectorTerm",
		"io.k8s.api.core.v1.ObjectFieldSelector",
		"io.k8s.api.core.v1.ObjectReference",
		"io.k8s.api.core.v1.ResourceFieldSelector",
		"io.k8s.api.core.v1.ScopeSelector",
		"io.k8s.api.core.v1.SecretKeySelector",
		"io.k8s.api.core.v1.SecretReference",
		"io.k8s.api.core.v1.TopologySelectorTerm",
		"io.k8s.api.core.v1.TypedLocalObjectReference",
		"io.k8s.api.discovery.v1.EndpointPort",
		"io.k8s.api.networking.v1.ServiceBackendPort",
		"io.k8s.api.rbac.v1.RoleRef",
		"io.k8s.api.rbac.v1.Subject":
		return true
	}
	return false
}
