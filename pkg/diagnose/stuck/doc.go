// Package stuck explains why an object's deletion is stuck. [Explainer.Gather] reads the facts, and
// [Diagnose] returns the causes; each family of causes has a file of rules. The package changes
// nothing in the cluster, does not wait and prints nothing.
package stuck

// The codes of causes, which are stable.
const (
	// The finalizer's controller is missing; it is scaled to zero, crashes, is not ready or lacks
	// permission; it runs and does not remove the finalizer; or it is unknown.
	FinalizerControllerGone       = "FinalizerControllerGone"
	FinalizerControllerScaledDown = "FinalizerControllerScaledDown"
	FinalizerControllerCrashing   = "FinalizerControllerCrashing"
	FinalizerControllerNotReady   = "FinalizerControllerNotReady"
	FinalizerControllerForbidden  = "FinalizerControllerForbidden"
	FinalizerControllerSilent     = "FinalizerControllerSilent"
	FinalizerUnknown              = "FinalizerUnknown"

	// Kubernetes itself: a finalizer that it removes, or a controller that is down.
	BuiltInFinalizer           = "BuiltInFinalizer"
	ControllerManagerDown      = "ControllerManagerDown"
	LoadBalancerControllerGone = "LoadBalancerControllerGone"

	// The update that removes the finalizer fails: a webhook does not answer or refuses it,
	// something else (a policy) refuses it, the object is no longer valid, or the server fails.
	WebhookUnreachable = "WebhookUnreachable"
	WebhookRefuses     = "WebhookRefuses"
	AdmissionRefuses   = "AdmissionRefuses"
	UpdateInvalid      = "UpdateInvalid"
	UpdateFails        = "UpdateFails"

	// Namespaces: an aggregated API is down or malformed, a finalizer in the spec, remaining
	// contents, contents that cannot be deleted, outdated conditions.
	APIServiceUnavailable  = "APIServiceUnavailable"
	GroupVersionUnreadable = "GroupVersionUnreadable"
	NamespaceFinalizer     = "NamespaceFinalizer"
	ContentRemains         = "ContentRemains"
	DeletionRefused        = "DeletionRefused"
	ConditionStale         = "ConditionStale"

	// CRDs: remaining instances, or a conversion webhook that is down.
	InstancesRemain       = "InstancesRemain"
	ConversionWebhookDown = "ConversionWebhookDown"

	// Owners and dependents.
	ForegroundDependents  = "ForegroundDependents"
	OrphaningDependents   = "OrphaningDependents"
	OwnerInOtherNamespace = "OwnerInOtherNamespace"

	// Storage: a claim in use, a volume that is bound or attached, or a driver that could not
	// detach or delete.
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

	// The API server fails, is overloaded, or cannot read its store.
	ServerFailing    = "ServerFailing"
	ServerThrottling = "ServerThrottling"
	Undecryptable    = "Undecryptable"

	// The deletion is slow, not stuck.
	Progressing = "Progressing"

	// Unread facts, an object that is not being deleted, and no finding.
	NotPermitted   = "NotPermitted"
	NotRead        = "NotRead"
	NotTerminating = "NotTerminating"
	Unknown        = "Unknown"
)
