package unready

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
)

const (
	// atOnce is for what the object alone shows. The pause only rules out a moment between two
	// writes.
	atOnce = 15 * time.Second
	// decided is for decisions that the server bases on its present contents.
	decided = time.Minute
	// comes is for something that another client may still bring: an operator that writes a Secret,
	// a second apply, an image that is being pushed. By then a kubelet has tried four times, and
	// controllers that create Pods more often.
	comes = 2 * time.Minute
)

// Lastings is the table of the causes that may end a wait, by code.
//
// Ending a wait for a cause that would have passed fails a healthy rollout; not ending it merely
// costs time. So a doubtful cause does not end it.
func Lastings() map[string]diagnose.Lasting {
	ends := func(after time.Duration) diagnose.Lasting { return diagnose.Lasting{Ends: true, After: after} }
	passes := diagnose.Lasting{After: decided}
	return map[string]diagnose.Lasting{
		// Pods that are not created.
		"QuotaExceeded":         passes,        // quota is freed when something else ends
		"QuotaNeedsResources":   ends(comes),   // the template states no resources; only a LimitRange could supply them
		"ServiceAccountMissing": ends(comes),   // it has to be created
		"PodSecurityViolation":  ends(decided), // the template does not comply with the namespace's level
		"WebhookDenied":         passes,        // a webhook may decide otherwise once its policies or its cache are there
		"WebhookUnavailable":    passes,        // its Pods come back
		"PolicyDenied":          ends(comes),   // the template does not comply with the policy
		"LimitRangeViolation":   ends(decided), // the template asks for what the namespace does not allow
		"PriorityClassMissing":  ends(comes),   // it has to be created
		"CreateRefused":         passes,        // what the server said is not understood

		// Pods without a node.
		"Unschedulable":   passes, // nodes are added, and room is made
		"NoNodes":         passes, // nodes are added
		"SchedulingGated": passes, // a queue opens the gate
		"NotScheduled":    passes, // the scheduler comes to it

		// Volumes.
		"ClaimMissing":            ends(comes),   // it has to be created
		"ClaimTerminating":        passes,        // it goes, and another one may come
		"ClaimLost":               ends(decided), // a claim that has lost its volume is not bound again
		"ClaimUnbound":            passes,        // volumes come
		"NoStorageClass":          ends(comes),   // a class, or a volume, has to be created
		"StorageClassMissing":     ends(comes),   // it has to be created
		"ProvisioningFailed":      passes,        // it is tried again
		"NoProvisioner":           passes,        // a driver that starts has nothing to say yet
		"NoVolume":                passes,        // volumes are made by hand
		"WaitForFirstConsumer":    passes,        // it waits for a Pod
		"VolumeDeadlock":          ends(decided), // the old Pod waits for the new one, and the new one for the old one's volume
		"VolumeInUse":             passes,        // the other Pod ends
		"VolumeShared":            passes,        // what the Pod ends for may be something else
		"VolumeAttachedElsewhere": passes,        // it is detached, by force after six minutes
		"VolumeNotMounted":        passes,        // it is tried again

		// Pods on a node.
		"NodeMissing":      passes,      // such Pods are removed, and others made
		"NodeNotReady":     passes,      // nodes come back, and Pods leave those that do not
		"PodTerminating":   passes,      // it ends
		"PodEvicted":       passes,      // another one is in its place
		"PodRejected":      passes,      // another one is in its place
		"SandboxFailed":    passes,      // the network of a new node comes up late
		"ReadinessGate":    passes,      // its controller opens it
		"Starting":         passes,      // nothing is wrong
		"ConfigMapMissing": ends(comes), // it has to be created
		"SecretMissing":    ends(comes), // it has to be created

		// Containers.
		"ImageNotFound":         ends(comes),           // it has to be pushed
		"ImageAccessDenied":     ends(comes + decided), // access has to be granted; operators renew tokens
		"ImagePlatformMissing":  ends(comes),           // it has to be built for the node
		"ImagePullFailed":       passes,                // registries and networks come back
		"ImageNameInvalid":      ends(atOnce),          // the template has to be changed
		"ImageNeverPulled":      ends(comes),           // it has to be loaded onto the node
		"ImageDiffers":          passes,                // the Pods run
		"ContainerCrash":        passes,                // what it needs may come up later; a Job tries again
		"ContainerExits":        passes,                // it may end until what it needs is there
		"OOMKilled":             passes,                // the next start may need less
		"CommandNotFound":       ends(comes),           // what it runs is not in the image
		"ProbeKills":            passes,                // a slow start may succeed at the next try
		"ContainerConfigError":  ends(comes),           // a key is missing, or a value does not fit
		"ContainerNotStarted":   passes,                // runtimes fail for a while
		"InitContainerRunning":  passes,                // it ends
		"ReadinessProbeFailing": passes,                // a slow start
		"StartupProbeFailing":   passes,                // a slow start

		// Workloads.
		"Paused":                   passes, // whoever paused it resumes it
		"ProgressDeadlineExceeded": passes, // the condition says whether it is final
		"MinReadySeconds":          passes, // time passes
		"StatefulSetPodStuck":      passes, // the older Pod may only be slow
		"UpdateOnDelete":           passes, // operators delete Pods in their own time
		"Suspended":                passes, // a queue resumes it
		"JobFailed":                passes, // the condition says whether it is final
		"JobBackoffLimit":          passes, // the condition says whether it is final
		"JobDeadline":              passes, // the condition says whether it is final
		"CronJobNotStarted":        passes, // it is tried again at its next time
		"AutoscalerInactive":       passes, // metrics come with the Pods
		"NoMetrics":                passes, // metrics-server comes up

		// Network.
		"NoEndpoints":            passes,      // something else writes them
		"NoReadyEndpoints":       passes,      // Pods get ready
		"SelectorMatchesNothing": ends(comes), // no Pod has these labels; those of a workload that is there do not get others
		"TargetPortMissing":      ends(comes), // no Pod has a port of that name
		"LoadBalancerPending":    passes,      // clouds take minutes
		"LoadBalancerFailed":     passes,      // it is tried again
		"IngressNoAddress":       passes,      // clouds take minutes
		"IngressClassMissing":    ends(comes), // it has to be created
		"NoIngressClass":         passes,      // some controllers take what names no class
		"ServiceMissing":         ends(comes), // it has to be created

		// Definitions and aggregated APIs.
		"NamesConflict":         ends(atOnce), // the other definition keeps the name
		"SchemaNotStructural":   ends(atOnce), // the definition has to be changed
		"GroupProtected":        ends(atOnce), // the definition has to be changed
		"NotEstablished":        passes,       // it takes a moment
		"APIServiceUnavailable": passes,       // its Pods come up

		// Any kind.
		"NamespaceTerminating": ends(decided), // nothing new can be created in it
		"Terminating":          passes,        // it goes
		"ReferenceMissing":     ends(comes),   // it has to be created
		"NotObserved":          passes,        // its controller comes to it
		"NoController":         passes,        // a controller may be installed later
		"ControllerDown":       passes,        // a controller comes back
		"Stalled":              passes,        // the condition says whether it is final
		"ConditionFalse":       passes,        // the condition says whether it is final
		"ConditionUnknown":     passes,        // the condition says whether it is final
		"Reconciling":          passes,        // its controller is at work
		"StatusSays":           passes,        // what it says is not understood
		"WarningEvent":         passes,        // what it warns of is not understood

		// Objects that could not be read.
		"NotAllowed": passes, // it is not known
		"Unreadable": passes, // it is not known
	}
}
