package stuck

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// rank orders causes: those on whose cure others depend come first.
type rank int

const (
	rankServer    rank = iota // the API server itself
	rankAdmission             // nothing can be updated
	rankBroken                // what should act does not run
	rankHeld                  // another object has to change
	rankMoving                // it is slow, not stuck
	rankSilent                // what should act runs, and does not
	rankWaiting               // it may just take its time
	rankBlind                 // what we could not see
)

// finding is a cause and its rank among the others.
type finding struct {
	event.Cause
	rank rank
}

// diagnosis is one run of the rules over the known facts.
type diagnosis struct {
	*diagnose.Run
	// looked are the objects in the current chain, each blocked by the next.
	looked []object.Key
	// classes has the object that represents each class.
	classes map[class]object.Ref
	// rules are run for each object. They are a field because rules ask for the causes of other
	// objects.
	rules []rule
}

// rule finds causes why an object does not go, and decides whether it applies.
type rule func(*unstructured.Unstructured) []finding

// sorted orders findings by rank and drops duplicates.
func sorted(findings []finding) []event.Cause {
	findings = merged(findings)
	causes := make([]event.Cause, len(findings))
	for i, f := range findings {
		causes[i] = f.Cause
	}
	return causes
}

func merged(findings []finding) []finding {
	slices.SortStableFunc(findings, func(a, b finding) int { return cmp.Compare(a.rank, b.rank) })
	seen := map[rootKey]bool{}
	return slices.DeleteFunc(findings, func(f finding) bool {
		key := keyOf(f.Cause)
		found := seen[key]
		seen[key] = true
		return found
	})
}

// Facts are the facts about an object that is being deleted.
type Facts struct {
	// Now is the time of the look.
	Now time.Time
	// Object is the object as it was last read, possibly only its metadata.
	Object *unstructured.Unstructured
	// Before and After are two counts of its contents; After is zero if there was only one.
	Before, After Look

	known *diagnose.Facts
}

// Look is how much an object held at a time.
type Look struct {
	At   time.Time
	Left int
}

// class identifies objects for which the removal of the finalizer has the same result, so that one
// represents all.
type class struct {
	kind      schema.GroupKind
	finalizer string
	hooks     string
}

// deepest bounds the chain of objects: from a namespace to its claim, from the claim to its Pod.
const deepest = 3

// causes runs all rules for one object.
func (d *diagnosis) causes(u *unstructured.Unstructured) []finding {
	key := object.RefOf(u).Key()
	if slices.Contains(d.looked, key) || len(d.looked) > deepest {
		return nil // A cycle, or too deep to be reported.
	}
	d.looked = append(d.looked, key)
	defer func() { d.looked = d.looked[:len(d.looked)-1] }()
	var found []finding
	for _, one := range d.rules {
		found = append(found, one(u)...)
	}
	return found
}

// Diagnose explains why an object does not go, root causes first. It returns at least one cause: if
// nothing else, Progressing, or Unknown with what was examined.
func Diagnose(f Facts) []event.Cause {
	return newDiagnosis(diagnose.NewRun(f.Now, f.known)).explain(f)
}

func newDiagnosis(r *diagnose.Run) *diagnosis {
	d := &diagnosis{Run: r, classes: map[class]object.Ref{}}
	d.rules = []rule{d.namespace, d.definition, d.conversion, d.pod, d.attachment, d.storage, d.finalizers}
	return d
}

// explain runs the rules for the object and orders what they find.
func (d *diagnosis) explain(f Facts) []event.Cause {
	if f.Object == nil || !diagnose.Terminating(f.Object) {
		return []event.Cause{notTerminating(f.Object)}
	}
	findings := d.causes(f.Object)
	if moving, ok := d.progress(f, findings); ok {
		findings = append(findings, moving)
	}
	findings = append(findings, d.server()...)
	if unread, ok := d.unread(); ok {
		findings = append(findings, unread)
	}
	if len(findings) == 0 {
		findings = append(findings, d.unknown(f.Object))
	}
	return sorted(findings)
}

// said returns a condition as evidence.
func said(c object.Condition) string { return text.Excerpt(c.Reason + ": " + c.Message) }

// removal returns the command that removes one finalizer.
func removal(ref object.Ref, finalizer string) string {
	return command.Kubectl("k8sconnect", "delete") + " " + diagnose.On(ref) + " --remove-finalizer=" + text.ShellQuote(finalizer)
}

// set says who put the finalizer there, by managed fields (edge case 60).
func (d *diagnosis) set(u *unstructured.Unstructured, finalizer string) []string {
	var evidence []string
	for _, o := range diagnose.Setters(u, finalizer) {
		text := "finalizer set by " + text.Excerpt(o.String())
		if !o.Time.IsZero() {
			text += ", which last wrote " + diagnose.Ago(d.Now.Sub(o.Time)) + " ago"
		}
		evidence = append(evidence, text)
	}
	return append(evidence, d.deleted(u))
}

func (d *diagnosis) deleted(u *unstructured.Unstructured) string {
	if !diagnose.Terminating(u) {
		return "not deleted yet"
	}
	return "deleted " + diagnose.Ago(d.Now.Sub(diagnose.Since(u))) + " ago"
}

// Lastings is the table of the causes that may end a wait for a deletion. A doubtful cause does
// not: to end a wait for one that would have passed fails a healthy teardown.
func Lastings() map[string]diagnose.Lasting {
	const (
		decided = time.Minute     // for what the object itself says
		comes   = 2 * time.Minute // for a fix that another client may be about to make
		outside = 5 * time.Minute // for what a controller outside the cluster might still do
	)
	ends := func(after time.Duration) diagnose.Lasting { return diagnose.Lasting{Ends: true, After: after} }
	passes := diagnose.Lasting{After: decided}
	return map[string]diagnose.Lasting{
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

// Explained is a terminating object with its causes.
type Explained struct {
	Ref object.Ref
	// Since is its deletion timestamp as stored by the server: the end of a grace period.
	Since  time.Time
	Causes []event.Cause
}

// Root is one cause with everything that it blocks.
type Root struct {
	Cause event.Cause
	// Holds are the objects that wait for it, sorted.
	Holds []object.Ref
	// Total is their number.
	Total int
}

// rootKey distinguishes causes: by code and the object that has to change, or by their text if
// there is none.
type rootKey struct {
	code, message string
	blockedBy     object.Key
}

func keyOf(c event.Cause) rootKey {
	key := rootKey{code: c.Code, blockedBy: c.BlockedBy.Key()}
	if c.BlockedBy == (object.Ref{}) {
		key.message = c.Message
	}
	return key
}

// Roots groups objects by their first cause, the cause that blocks most objects first.
func Roots(objects []Explained) []Root {
	byKey := map[rootKey]*Root{}
	for _, o := range objects {
		if len(o.Causes) == 0 {
			continue
		}
		key := keyOf(o.Causes[0])
		if byKey[key] == nil {
			byKey[key] = &Root{Cause: o.Causes[0]}
		}
		if len(o.Causes[0].Evidence) < len(byKey[key].Cause.Evidence) {
			// Report the evidence of an object that the cause blocks directly: one that waits for
			// that object has more.
			byKey[key].Cause = o.Causes[0]
		}
		byKey[key].Holds = append(byKey[key].Holds, o.Ref)
	}
	roots := make([]Root, 0, len(byKey))
	for _, r := range byKey {
		slices.SortFunc(r.Holds, object.Ref.Compare)
		r.Total = len(r.Holds)
		roots = append(roots, *r)
	}
	slices.SortFunc(roots, func(a, b Root) int {
		return cmp.Or(
			cmp.Compare(b.Total, a.Total),
			cmp.Compare(a.Cause.Code, b.Cause.Code),
			a.Cause.BlockedBy.Compare(b.Cause.BlockedBy),
			cmp.Compare(a.Cause.Message, b.Cause.Message),
		)
	})
	return roots
}
