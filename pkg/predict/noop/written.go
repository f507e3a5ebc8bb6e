package noop

import (
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
)

// isWritten reports whether the server stores a field of one of Kubernetes' own kinds even if it is
// zero, because the field is a pointer in the Go type. If our set contains the path of such a field
// but the object lacks the field, the manifest set the field to null.
func isWritten(p fieldpath.Path) bool {
	var names []string
	for _, pe := range p {
		if pe.FieldName != nil {
			names = append(names, *pe.FieldName)
		}
	}
	last := names[len(names)-1]
	parent := ""
	if len(names) > 1 {
		parent = names[len(names)-2]
	}
	for name := range strings.FieldsSeq(writtenNames) {
		if name == last || name == parent+"."+last {
			return true
		}
	}
	return false
}

func isWrittenSomewhere(name string) bool {
	for written := range strings.FieldsSeq(writtenNames) {
		if written[strings.LastIndexByte(written, '.')+1:] == name {
			return true
		}
	}
	return false
}

func isWrittenInDefinitions(name string) bool {
	return slices.Contains(strings.Fields(writtenOfDefinitions), name)
}

// writtenOfDefinitions lists the pointer fields in the Go types of CRDs.
const writtenOfDefinitions = `
$ref additionalItems additionalProperties clientConfig conversion default deprecationWarning example externalDocs
items labelSelectorPath maxItems maxLength maxProperties maximum minItems minLength minProperties minimum
multipleOf not openAPIV3Schema optionalOldSelf path port reason scale schema service status subresources url
webhook x-kubernetes-list-type x-kubernetes-map-type x-kubernetes-preserve-unknown-fields
`

// writtenNames lists the pointer fields in the Go types of Kubernetes 1.36. If a field of the same
// name elsewhere is not a pointer, the parent's name precedes the field's name. A test compares the
// names with the types.
const writtenNames = `
.capacity .overhead acquireTime activeDeadlineSeconds addresses.nodeName adminAccess affinity aggregationRule
all allocatable allocatable.count allocateLoadBalancerNodePorts allowMultipleAllocations
allowPrivilegeEscalation allowVolumeExpansion appArmorProfile appProtocol applyConfiguration attachRequired
attributes.version automountServiceAccountToken averageUtilization averageValue awsElasticBlockStore azureDisk
azureDisk.fsType azureDisk.kind azureDisk.readOnly azureFile backend.resource backoffLimit
backoffLimitPerIndex basic basic.allNodes basic.nodeName basic.nodeSelector behavior bindsToNode
blockOwnerDeletion bool borrowingLimitPercent boundObjectRef cachingMode capabilities capacityKey
capacityMultiplier cel cephfs cinder claimRef clientIP clientIP.timeoutSeconds clusterTrustBundle
clusterTrustBundle.name clusterTrustBundle.signerName clusterTrustBundle.user completionMode completions
configMap configMapKeyRef configMapRef configSource containerResource containers.restartPolicy
controllerExpandSecretRef controllerPublishSecretRef controllerRef csi csi.fsType csi.readOnly dataSource
dataSource.apiGroup dataSourceRef dataSourceRef.apiGroup dataSourceRef.namespace defaultBackend
defaultBackend.resource defaultMode defaultPartitionTypeAttribute defaultUser deleteOptions
deletionGracePeriodSeconds deletionTimestamp details device deviceMultiplier deviceSelector
deviceSelector.driver deviceSelector.pool devices.allNodes devices.nodeName devices.nodeSelector
disruptionMode distinctAttribute distinguisherMethod dnsConfig downwardAPI emptyDir enableServiceLinks endPort
endpoints.hostname endpoints.nodeName endpointsNamespace ephemeral ephemeralContainers.restartPolicy exactly
exactly.capacity exec exempt exempt.nominalConcurrencyShares exitCodes expirationSeconds extendedResourceName
external failedJobsHistoryLimit failurePolicy fc fc.lun fieldRef fieldSelector fieldsV1 fileKeyRef
firstAvailable.capacity flexVolume flocker from.podSelector fsGroup fsGroupChangePolicy fsGroupPolicy gang
gang.minCount gcePersistentDisk gitRepo glusterfs gmsaCredentialSpec gmsaCredentialSpecName gracePeriodSeconds
grpc hints holderIdentity hostPath hostPath.type hostProcess hostUsers hostnameOverride http httpGet
httpGet.protocol ignoreStoreReadErrorWithClusterBreakingPotential immutable ingressClassName
initContainers.restartPolicy initiatorName inlineVolumeSpec int internalTrafficPolicy ipBlock ipFamilyPolicy
iscsi items.user jsonPatch labelSelector leaseDurationSeconds leaseTransitions lendablePercent lifecycle limit
limited limited.nominalConcurrencyShares livenessProbe loadBalancerClass local local.fsType localhostProfile
managedBy manualSelector mapping matchAttribute matchConstraints matchPolicy matchResources
maxExpirationSeconds maxFailedIndexes maxSurge maxUnavailable maximumVolumeSize metric.selector metrics.object
metrics.resource minAvailable minDomains minReplicas mode mountPropagation namespaceSelector nfs nodeAffinity
nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution nodeAffinityPolicy
nodeAllocatableResources.overhead nodeAllocatableUpdatePeriodSeconds nodeExpandSecretRef nodePublishSecretRef
nodeStageSecretRef nodeTaintsPolicy nodeTopology nonResourceAttributes notReadyAddresses.nodeName
objectSelector onExitCodes onExitCodes.containerName opaque optional options.value ordinals orphanDependents
os ownerReferences.controller parallelism paramKind paramRef paramRef.selector parameterNotFoundAction
parameters.apiGroup parameters.namespace parentCompositePodGroupName parentRef partitionTypeAttribute pathType
perContainer perDeviceNodeSelection perPod persistentVolumeClaim persistentVolumeClaimRetentionPolicy
persistentVolumeName photonPersistentDisk pingTime pod podAffinity podAntiAffinity podCertificate
podCertificate.user podFailurePolicy podGroupName podInfoOnMount podPreemptionPolicy podReplacementPolicy pods
poolName ports.name ports.port ports.protocol portworxVolume postStart preStop preconditions
preconditions.resourceVersion preconditions.uid preemptionPolicy preferredHolder preventPodSchedulingIfMissing
priority privileged procMount progressDeadlineSeconds projected propagationPolicy queuing quobyte rbd
readOnlyRootFilesystem readinessProbe ready reclaimPolicy recursiveReadOnly related renewTime requestPolicy
requestPolicy.default requests.capacity required requiresRepublish resource.apiGroup resourceAttributes
resourceClaimName resourceClaimTemplateName resourceFieldRef revisionHistoryLimit rollingUpdate
rollingUpdate.partition runAsGroup runAsNonRoot runAsUser runAsUserName runtimeClassName scaleDown scaleIO
scaleUp scheduling scheduling.schedulingPolicy schedulingConstraints schedulingGroup scope scopeSelector
seLinuxChangePolicy seLinuxMount seLinuxOptions seccompProfile secret secretKeyRef secretNamespace secretRef
securityContext selectPolicy series service service.path service.port serviceAccountToken
serviceAccountToken.user serviceAccountTokenInSecrets serving sessionAffinityConfig setHostnameAsFQDN
shareProcessNamespace sideEffects single sizeLimit sleep spec.allNodes spec.backend spec.nodeName
spec.nodeSelector spec.overhead spec.parameters spec.replicas spec.resources spec.rollbackTo spec.selector
spec.signerName spec.storageClassName spec.strategy spec.template stabilizationWindowSeconds
startingDeadlineSeconds startupProbe step stopSignal storageCapacity storageos string subjects.group
subjects.serviceAccount subjects.user succeededCount succeededIndexes successPolicy successfulJobsHistoryLimit
supplementalGroupsPolicy suspend target.value targetCPUUtilizationPercentage targetRef tcpSocket terminating
terminationGracePeriodSeconds time timeAdded timeZone to.podSelector tolerance tolerationSeconds
trafficDistribution ttlSecondsAfterFinished unhealthyPodEvictionPolicy url validRange validRange.max
validRange.min validations.reason valueFrom volumeAttributesClassName volumeBindingMode volumeClaimTemplate
volumeMode volumes.image vsphereVolume webhooks.reinvocationPolicy webhooks.timeoutSeconds windowsOptions
workloadRef zone
`

// isAtomicMap reports whether a map of this name is atomic in Kubernetes' own kinds. Kubernetes
// 1.36 marks the listed properties with x-kubernetes-map-type: atomic. CRDs that embed a label
// selector or a reference use the same names and markers.
//
// Managed fields do not distinguish an atomic map from a granular one that was {} when it was
// applied and that the server has since filled with defaults. The server does not fill the listed
// maps.
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

// isBuiltIn reports whether an API version belongs to one of Kubernetes' own groups. CRDs need
// approval to use such a group.
func isBuiltIn(apiVersion string) bool {
	group, _, grouped := strings.Cut(apiVersion, "/")
	return !grouped || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

// isGranularList reports whether the items of a list of this name are owned individually in
// Kubernetes' own kinds. The Go types of Kubernetes 1.36 mark the listed names with +listType=map
// or set. imagePullSecrets is granular in a Pod, but atomic at the top level of a ServiceAccount.
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
