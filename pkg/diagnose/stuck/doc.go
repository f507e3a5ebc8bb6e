// Package stuck explains why an object's deletion is stuck. It never changes the cluster and never
// prints. It waits only between two counts of an object's contents. Start with [Explainer.Gather]
// and [Diagnose]. Each family of causes has its own file of rules.
package stuck

// FinalizerControllerGone is the first of the stable codes of causes.
const (
	// The finalizer's controller.
	FinalizerControllerGone       = "FinalizerControllerGone"
	FinalizerControllerScaledDown = "FinalizerControllerScaledDown"
	FinalizerControllerCrashing   = "FinalizerControllerCrashing"
	FinalizerControllerNotReady   = "FinalizerControllerNotReady"
	FinalizerControllerForbidden  = "FinalizerControllerForbidden"
	FinalizerControllerSilent     = "FinalizerControllerSilent"
	FinalizerUnknown              = "FinalizerUnknown"

	// Kubernetes itself.
	BuiltInFinalizer           = "BuiltInFinalizer"
	ControllerManagerDown      = "ControllerManagerDown"
	LoadBalancerControllerGone = "LoadBalancerControllerGone"

	// The update that removes the finalizer fails.
	WebhookUnreachable = "WebhookUnreachable"
	WebhookRefuses     = "WebhookRefuses"
	AdmissionRefuses   = "AdmissionRefuses"
	UpdateInvalid      = "UpdateInvalid"
	UpdateFails        = "UpdateFails"

	// Namespaces.
	APIServiceUnavailable  = "APIServiceUnavailable"
	GroupVersionUnreadable = "GroupVersionUnreadable"
	NamespaceFinalizer     = "NamespaceFinalizer"
	ContentRemains         = "ContentRemains"
	DeletionRefused        = "DeletionRefused"
	ConditionStale         = "ConditionStale"

	// CRDs.
	InstancesRemain       = "InstancesRemain"
	ConversionWebhookDown = "ConversionWebhookDown"

	// Owners and dependents.
	ForegroundDependents  = "ForegroundDependents"
	OrphaningDependents   = "OrphaningDependents"
	OwnerInOtherNamespace = "OwnerInOtherNamespace"

	// Storage.
	ClaimInUse           = "ClaimInUse"
	VolumeBound          = "VolumeBound"
	VolumeAttached       = "VolumeAttached"
	VolumeDetachFailed   = "VolumeDetachFailed"
	VolumeDeletionFailed = "VolumeDeletionFailed"

	// Pods and their nodes.
	PodGracePeriod     = "PodGracePeriod"
	PodPastGracePeriod = "PodPastGracePeriod"
	PodUnmounting      = "PodUnmounting"
	NodeGone           = "NodeGone"
	NodeNotReady       = "NodeNotReady"

	// The API server.
	ServerFailing    = "ServerFailing"
	ServerThrottling = "ServerThrottling"
	Undecryptable    = "Undecryptable"

	// The deletion is slow, not stuck.
	Progressing = "Progressing"

	// Facts could not be read, the object is not being deleted, or no cause was found.
	NotPermitted   = "NotPermitted"
	NotRead        = "NotRead"
	NotTerminating = "NotTerminating"
	Unknown        = "Unknown"
)
