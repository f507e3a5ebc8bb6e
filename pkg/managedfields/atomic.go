package managedfields

// isAtomicMap tells whether a map of this name is atomic in Kubernetes' own
// kinds. The names are those of the properties that the OpenAPI description of
// Kubernetes 1.36 marks x-kubernetes-map-type: atomic; definitions that embed a
// label selector or a reference take name and marker over.
//
// A set alone can not tell an atomic map from a granular one that was {} when
// it was applied, and which the server has filled with defaults since. Nothing
// in this list is filled in that way.
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
