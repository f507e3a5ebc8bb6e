package unready

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
)

const (
	// atOnce is for causes that the object itself shows. The delay covers the moment between two
	// writes.
	atOnce = 15 * time.Second
	// decided is the delay for refusals that the server would repeat, given its current state.
	decided = time.Minute
	// comes is the delay for missing things that another client may yet create. A kubelet makes
	// four attempts within this time.
	comes = 2 * time.Minute
)

// Lastings returns, by code, whether a cause ends a wait and after how long.
//
// If a wait ends for a cause that would have passed, a healthy rollout fails. If a wait does not
// end, that only costs time. So a doubtful cause does not end a wait.
func Lastings() map[string]diagnose.Lasting {
	ends := func(after time.Duration) diagnose.Lasting { return diagnose.Lasting{Ends: true, After: after} }
	passes := diagnose.Lasting{After: decided}
	return map[string]diagnose.Lasting{
		// Pods that are not created.
		"QuotaExceeded":         passes,        // other Pods end and free quota
		"QuotaNeedsResources":   ends(comes),   // the template sets no resources; only a LimitRange could add them
		"ServiceAccountMissing": ends(comes),   // someone must create it
		"PodSecurityViolation":  ends(decided), // the template does not comply with the namespace's level
		"WebhookDenied":         passes,        // the webhook may decide otherwise once its policies or cache are loaded
		"WebhookUnavailable":    passes,        // its Pods may come back
		"PolicyDenied":          ends(comes),   // the template does not comply with the policy
		"LimitRangeViolation":   ends(decided), // the template requests more than the namespace allows
		"PriorityClassMissing":  ends(comes),   // someone must create it
		"CreateRefused":         passes,        // the server's answer is not understood

		// Pods without a node.
		"Unschedulable":   passes, // nodes may be added or freed
		"NoNodes":         passes, // nodes may be added
		"SchedulingGated": passes, // a queue may remove the gate
		"NotScheduled":    passes, // the scheduler may only be slow

		// Volumes.
		"ClaimMissing":            ends(comes),   // someone must create it
		"ClaimTerminating":        passes,        // another one may be created
		"ClaimLost":               ends(decided), // a claim that has lost its volume is not bound again
		"ClaimUnbound":            passes,        // a volume may be created
		"NoStorageClass":          ends(comes),   // someone must create a class or a volume
		"StorageClassMissing":     ends(comes),   // someone must create it
		"ProvisioningFailed":      passes,        // it will be retried
		"NoProvisioner":           passes,        // a driver that is starting reports nothing yet
		"NoVolume":                passes,        // someone may create a volume
		"WaitForFirstConsumer":    passes,        // a Pod may be scheduled
		"VolumeDeadlock":          ends(decided), // the old Pod waits for the new one, which waits for the old one's volume
		"VolumeInUse":             passes,        // the other Pod may end
		"VolumeShared":            passes,        // the Pod may exit for another reason
		"VolumeAttachedElsewhere": passes,        // it will be detached, by force after six minutes
		"VolumeNotMounted":        passes,        // it will be retried

		// Pods on a node.
		"NodeMissing":      passes,      // such Pods are replaced
		"NodeNotReady":     passes,      // the node may come back, or its Pods may be replaced
		"PodTerminating":   passes,      // it may end
		"PodEvicted":       passes,      // another Pod replaces it
		"PodRejected":      passes,      // another Pod replaces it
		"SandboxFailed":    passes,      // the network of a new node may be slow to start
		"ReadinessGate":    passes,      // its controller may set it
		"Starting":         passes,      // nothing is wrong
		"ConfigMapMissing": ends(comes), // someone must create it
		"SecretMissing":    ends(comes), // someone must create it

		// Containers.
		"ImageNotFound":         ends(comes),           // someone must push it
		"ImageAccessDenied":     ends(comes + decided), // someone must grant access, though operators may renew tokens
		"ImagePlatformMissing":  ends(comes),           // someone must build it for this platform
		"ImagePullFailed":       passes,                // the registry or the network may recover
		"ImageNameInvalid":      ends(atOnce),          // the template has to change
		"ImageNeverPulled":      ends(comes),           // someone must load it onto the node
		"ImageDiffers":          passes,                // the Pods run anyway
		"ContainerCrash":        passes,                // a dependency may still be starting; a Job retries
		"ContainerExits":        passes,                // a dependency may still be starting
		"OOMKilled":             passes,                // the next start may need less
		"CommandNotFound":       ends(comes),           // the image lacks the command
		"ProbeKills":            passes,                // the next start may be fast enough
		"ContainerConfigError":  ends(comes),           // a key is missing, or a value is invalid
		"ContainerNotStarted":   passes,                // the runtime may recover
		"InitContainerRunning":  passes,                // it ends
		"ReadinessProbeFailing": passes,                // it may be slow to start
		"StartupProbeFailing":   passes,                // it may be slow to start

		// Workloads.
		"Paused":                   passes, // whoever paused it may resume it
		"ProgressDeadlineExceeded": passes, // readiness decides whether it is final
		"MinReadySeconds":          passes, // it only takes time
		"StatefulSetPodStuck":      passes, // the older Pod may only be slow
		"UpdateOnDelete":           passes, // an operator may delete the Pods later
		"Suspended":                passes, // a queue may resume it
		"JobFailed":                passes, // readiness decides whether it is final
		"JobBackoffLimit":          passes, // readiness decides whether it is final
		"JobDeadline":              passes, // readiness decides whether it is final
		"CronJobNotStarted":        passes, // it will be retried at the next scheduled time
		"AutoscalerInactive":       passes, // metrics arrive once Pods run
		"NoMetrics":                passes, // metrics-server may be starting

		// Network.
		"NoEndpoints":            passes,      // another controller may write them
		"NoReadyEndpoints":       passes,      // its Pods may become ready
		"SelectorMatchesNothing": ends(comes), // existing Pods do not change their labels
		"TargetPortMissing":      ends(comes), // existing Pods do not change their ports
		"LoadBalancerPending":    passes,      // clouds take minutes
		"LoadBalancerFailed":     passes,      // it will be retried
		"IngressNoAddress":       passes,      // clouds take minutes
		"IngressClassMissing":    ends(comes), // someone must create it
		"NoIngressClass":         passes,      // some controllers handle Ingresses without a class
		"ServiceMissing":         ends(comes), // someone must create it

		// Definitions and aggregated APIs.
		"NamesConflict":         ends(atOnce), // the other CRD keeps the name
		"SchemaNotStructural":   ends(atOnce), // the CRD has to change
		"GroupProtected":        ends(atOnce), // the CRD has to change
		"NotEstablished":        passes,       // it takes a moment
		"APIServiceUnavailable": passes,       // its Pods may be starting

		// Any kind.
		"NamespaceTerminating": ends(decided), // nothing can be created in it
		"Terminating":          passes,        // it will be gone
		"ReferenceMissing":     ends(comes),   // someone must create it
		"ResourceClaimFailed":  passes,        // its controller will retry
		"NotObserved":          passes,        // its controller may only be slow
		"NoController":         passes,        // a controller may be installed later
		"ControllerDown":       passes,        // the controller may come back
		"Stalled":              passes,        // readiness decides whether it is final
		"ConditionFalse":       passes,        // readiness decides whether it is final
		"ConditionUnknown":     passes,        // readiness decides whether it is final
		"Reconciling":          passes,        // its controller is working
		"StatusSays":           passes,        // the status is not understood
		"WarningEvent":         passes,        // the warning is not understood

		// Objects that could not be read.
		"NotAllowed": passes, // its state is unknown
		"Unreadable": passes, // its state is unknown
	}
}
