package stuck

import (
	"maps"
	"slices"
	"time"
)

// Lasting says whether it makes sense to wait for a cause to pass.
type Lasting struct {
	// Ends is set if the cause stays until something is changed, so that a wait may end.
	Ends bool
	// After is how long the cause has to last, without any other change in the object,
	// before a wait ends.
	After time.Duration
}

// LastingOf returns what applies to a cause. It is false for a code that this package does
// not have.
func LastingOf(code string) (Lasting, bool) {
	l, ok := lastings()[code]
	return l, ok
}

// Codes returns the codes of all causes, sorted.
func Codes() []string { return slices.Sorted(maps.Keys(lastings())) }

// lastings is the one table of the causes that may end a wait for a deletion. A doubtful one
// does not end it: to end a wait for a cause that would have passed fails a sound teardown.
func lastings() map[string]Lasting {
	const (
		decided = time.Minute     // for what the object itself says
		comes   = 2 * time.Minute // for a fix that another client may be about to make
		outside = 5 * time.Minute // for what a controller outside the cluster might still do
	)
	ends := func(after time.Duration) Lasting { return Lasting{Ends: true, After: after} }
	passes := Lasting{After: decided}
	return map[string]Lasting{
		FinalizerControllerGone:       ends(outside), // it has to be installed
		FinalizerControllerScaledDown: ends(comes),   // it has to be scaled up
		FinalizerControllerForbidden:  ends(comes),   // it has to be granted the right
		FinalizerControllerCrashing:   passes,        // what it needs may come up later
		FinalizerControllerNotReady:   passes,        // it may be starting
		FinalizerControllerSilent:     passes,        // it may be cleaning up
		FinalizerUnknown:              passes,        // it is not known
		BuiltInFinalizer:              passes,        // Kubernetes comes to it
		ControllerManagerDown:         passes,        // it comes back
		LoadBalancerControllerGone:    ends(outside), // it has to be installed

		WebhookUnreachable: passes,        // its Pods come back
		WebhookRefuses:     passes,        // it may decide otherwise
		AdmissionRefuses:   passes,        // what the server said is not understood
		UpdateInvalid:      ends(decided), // the object has to be changed
		UpdateFails:        passes,        // the server recovers

		APIServiceUnavailable:  passes,      // its Pods come back
		GroupVersionUnreadable: ends(comes), // the API has to be changed
		NamespaceFinalizer:     passes,      // its controller comes to it
		ContentRemains:         passes,      // it goes
		DeletionRefused:        passes,      // it is tried again
		ConditionStale:         passes,      // the controller looks again
		InstancesRemain:        passes,      // they go
		ConversionWebhookDown:  passes,      // its Pods come back

		ForegroundDependents:  passes,      // they go
		OrphaningDependents:   passes,      // they are released
		OwnerInOtherNamespace: ends(comes), // the dependent has to be changed

		ClaimInUse:           passes,      // Pods end
		VolumeBound:          ends(comes), // the claim has to be deleted
		VolumeAttached:       passes,      // it is detached
		VolumeDetachFailed:   passes,      // it is tried again
		VolumeDeletionFailed: passes,      // it is tried again

		PodGracePeriod:     passes, // time passes
		PodPastGracePeriod: passes, // the node comes back
		PodUnmounting:      passes, // it ends
		NodeGone:           passes, // such Pods are removed
		NodeNotReady:       passes, // nodes come back

		ServerFailing:    passes,      // it recovers
		ServerThrottling: passes,      // it recovers
		Undecryptable:    ends(comes), // the server needs its key

		Progressing:    passes, // it goes
		NotPermitted:   passes, // it is not known
		NotRead:        passes, // it is not known
		NotTerminating: passes, // it is not waited for
		Unknown:        passes, // it is not known
	}
}
