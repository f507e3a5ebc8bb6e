package noop

import "strings"

// isAtomicMap reports whether a map of this name is atomic in Kubernetes' own
// kinds. The names are those of the properties that the OpenAPI description of
// Kubernetes 1.36 marks x-kubernetes-map-type: atomic; definitions that embed a
// label selector or a reference take name and marker over.
//
// A set alone cannot distinguish an atomic map from a granular one that was {} when it was
// applied and that the server has since filled with defaults. The server fills nothing on
// this list that way.
func isAtomicMap(name string) bool {
	switch name {
	case "labelSelector", "namespaceSelector", "nodeSelector", "objectSelector", "podSelector",
		"scopeSelector", "selector",
		"claimRef", "configMapKeyRef", "controllerExpandSecretRef", "controllerPublishSecretRef",
		"dataSource", "fieldRef", "fileKeyRef", "involvedObject", "nodeExpandSecretRef",
		"nodePublishSecretRef", "nodeStageSecretRef", "paramKind", "paramRef", "regarding", "related",
		"resourceFieldRef", "roleRef", "scaleTargetRef", "secretKeyRef", "secretRef", "targetRef",
		"matchConstraints", "matchResources", "nodeTopology", "preference", "required",
		"requiredDuringSchedulingIgnoredDuringExecution":
		return true
	}
	return false
}

// isBuiltIn reports whether an API version is one of Kubernetes' own. Definitions may
// not use these groups without approval.
func isBuiltIn(apiVersion string) bool {
	group, _, grouped := strings.Cut(apiVersion, "/")
	return !grouped || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// isGranularList reports whether a list of this name is owned by item in Kubernetes'
// own kinds: those that its Go types of 1.36 mark +listType=map or set, and that manifests
// state. All others are atomic. A top-level list of a ServiceAccount is atomic although a
// Pod has a granular list of the same name.
func isGranularList(name string, top bool) bool {
	switch name {
	case "imagePullSecrets":
		return !top
	case "containers", "initContainers", "ephemeralContainers", "ports", "env", "volumes", "volumeMounts",
		"volumeDevices", "hostAliases", "topologySpreadConstraints", "resourceClaims", "schedulingGates", "claims",
		"secrets", "webhooks", "matchConditions", "variables", "conditions", "finalizers", "ownerReferences", "podCIDRs":
		return true
	}
	return false
}
