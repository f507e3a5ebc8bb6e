// Package stuck explains why the deletion of an object hangs. [Explainer.Gather] reads the facts,
// and [Diagnose] draws the conclusions; each family of causes has a file of rules. It changes
// nothing in the cluster, does not wait and prints nothing.
package stuck

// The codes of causes. They are stable: machines depend on them.
const (
	// The finalizer's controller: it seems not to exist; it is scaled to zero, crashes, is not
	// ready or lacks permission; it runs and does not remove the finalizer; or it is unknown.
	FinalizerControllerGone       = "FinalizerControllerGone"
	FinalizerControllerScaledDown = "FinalizerControllerScaledDown"
	FinalizerControllerCrashing   = "FinalizerControllerCrashing"
	FinalizerControllerNotReady   = "FinalizerControllerNotReady"
	FinalizerControllerForbidden  = "FinalizerControllerForbidden"
	FinalizerControllerSilent     = "FinalizerControllerSilent"
	FinalizerUnknown              = "FinalizerUnknown"

	// Kubernetes itself: a finalizer that it removes, and its controllers being down.
	BuiltInFinalizer           = "BuiltInFinalizer"
	ControllerManagerDown      = "ControllerManagerDown"
	LoadBalancerControllerGone = "LoadBalancerControllerGone"

	// The update that removes the finalizer is refused: by a webhook, because a webhook does not
	// answer, by something else (a policy), because the object is no longer valid, or because the
	// server fails.
	WebhookUnreachable = "WebhookUnreachable"
	WebhookRefuses     = "WebhookRefuses"
	AdmissionRefuses   = "AdmissionRefuses"
	UpdateInvalid      = "UpdateInvalid"
	UpdateFails        = "UpdateFails"

	// Namespaces: an aggregated API is down or describes itself incorrectly; a finalizer in the
	// spec, contents that remain or cannot be deleted, and outdated conditions.
	APIServiceUnavailable  = "APIServiceUnavailable"
	GroupVersionUnreadable = "GroupVersionUnreadable"
	NamespaceFinalizer     = "NamespaceFinalizer"
	ContentRemains         = "ContentRemains"
	DeletionRefused        = "DeletionRefused"
	ConditionStale         = "ConditionStale"

	// CRDs: remaining instances, a conversion webhook that is down.
	InstancesRemain       = "InstancesRemain"
	ConversionWebhookDown = "ConversionWebhookDown"

	// Owners and dependents.
	ForegroundDependents  = "ForegroundDependents"
	OrphaningDependents   = "OrphaningDependents"
	OwnerInOtherNamespace = "OwnerInOtherNamespace"

	// Storage: a claim in use, a volume that is bound or attached, drivers that could not delete or
	// detach.
	ClaimInUse           = "ClaimInUse"
	VolumeBound          = "VolumeBound"
	VolumeAttached       = "VolumeAttached"
	VolumeDetachFailed   = "VolumeDetachFailed"
	VolumeDeletionFailed = "VolumeDeletionFailed"

	// Pods, and their nodes.
	PodGracePeriod     = "PodGracePeriod"
	PodPastGracePeriod = "PodPastGracePeriod"
	PodUnmounting      = "PodUnmounting"
	NodeGone           = "NodeGone"
	NodeNotReady       = "NodeNotReady"

	// The API server: it fails, is overloaded, or cannot read what is stored.
	ServerFailing    = "ServerFailing"
	ServerThrottling = "ServerThrottling"
	Undecryptable    = "Undecryptable"

	// It is slow, not stuck.
	Progressing = "Progressing"

	// Facts that could not be read; an object that is not being deleted; and no finding at all.
	NotPermitted   = "NotPermitted"
	NotRead        = "NotRead"
	NotTerminating = "NotTerminating"
	Unknown        = "Unknown"
)
