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

// rank determines the order of causes. A cause that must be fixed before another cause can be fixed
// comes first.
type rank int

const (
	rankServer    rank = iota // the API server itself
	rankAdmission             // nothing can be updated
	rankBroken                // a controller or driver does not work
	rankHeld                  // another object has to change
	rankMoving                // it is slow, not stuck
	rankSilent                // a controller runs, but does not act
	rankWaiting               // it may just take its time
	rankBlind                 // facts that could not be read
)

type finding struct {
	event.Cause
	rank rank
}

type diagnosis struct {
	*diagnose.Run
	// looked contains the current chain of objects, each of which is blocked by the next.
	looked  []object.Key
	classes map[class]object.Ref
	// rules is a field because some rules call all rules again for further objects.
	rules []rule
}

type rule func(*unstructured.Unstructured) []finding

func sorted(findings []finding) []event.Cause {
	slices.SortStableFunc(findings, func(a, b finding) int { return cmp.Compare(a.rank, b.rank) })
	causes := make([]event.Cause, 0, len(findings))
	seen := map[rootKey]bool{}
	for _, f := range findings {
		if key := keyOf(f.Cause); !seen[key] {
			seen[key] = true
			causes = append(causes, f.Cause)
		}
	}
	return causes
}

// Facts are the facts about an object that is being deleted.
type Facts struct {
	Now time.Time
	// Object may contain only metadata.
	Object *unstructured.Unstructured
	// Before and After are counts of the contents; After may be zero.
	Before, After Look

	known *diagnose.Facts
}

// Look is a count of an object's contents at one point in time.
type Look struct {
	At   time.Time
	Left int
}

// class groups objects for which a single dry run of the removal is enough.
type class struct {
	kind      schema.GroupKind
	finalizer string
	hooks     string
}

// deepest limits the length of a chain of objects, such as namespace, claim, Pod.
const deepest = 3

func (d *diagnosis) causes(u *unstructured.Unstructured) []finding {
	key := object.RefOf(u).Key()
	if slices.Contains(d.looked, key) || len(d.looked) > deepest {
		return nil // a cycle, or too deep to be reported
	}
	d.looked = append(d.looked, key)
	defer func() { d.looked = d.looked[:len(d.looked)-1] }()
	var found []finding
	for _, one := range d.rules {
		found = append(found, one(u)...)
	}
	return found
}

// Diagnose explains why an object is not deleted. Root causes come first, and there is at least one
// cause.
func Diagnose(f Facts) []event.Cause {
	return newDiagnosis(diagnose.NewRun(f.Now, f.known)).explain(f)
}

func newDiagnosis(r *diagnose.Run) *diagnosis {
	d := &diagnosis{Run: r, classes: map[class]object.Ref{}}
	d.rules = []rule{d.namespace, d.definition, d.conversion, d.pod, d.attachment, d.storage, d.finalizers}
	return d
}

func (d *diagnosis) explain(f Facts) []event.Cause {
	if f.Object == nil || !diagnose.Terminating(f.Object) {
		return []event.Cause{notTerminating(f.Object)}
	}
	findings := d.causes(f.Object)
	findings = append(findings, d.server()...)
	if moving, ok := progress(f, findings); ok {
		findings = append(findings, moving)
	}
	if unread, ok := d.unread(); ok {
		findings = append(findings, unread)
	}
	if len(findings) == 0 {
		findings = append(findings, d.unknown(f.Object))
	}
	return sorted(findings)
}

func message(c object.Condition) string { return text.Excerpt(c.Reason + ": " + c.Message) }

// removing suggests removing the finalizer if the object is being deleted. Otherwise, k8sconnect
// delete would not remove the finalizer, and only waiting helps.
func removing(c event.Cause, u *unstructured.Unstructured, finalizer, risk string) event.Cause {
	if diagnose.Terminating(u) {
		c.Next = command.Kubectl("k8sconnect", "delete") + " " + diagnose.On(object.RefOf(u)) + " --remove-finalizer=" + text.ShellQuote(finalizer)
		c.Risk = risk
	}
	return c
}

// set returns evidence: the owners that set the finalizer (edge case 60), and the time since the
// deletion was requested.
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

// Lastings returns, by code, whether a cause ends a wait for a deletion, and after how long. A
// doubtful cause does not end the wait: if a wait ended for a cause that would have passed, a
// healthy teardown would fail.
func Lastings() map[string]diagnose.Lasting {
	const (
		decided = time.Minute     // for what the object itself shows
		comes   = 2 * time.Minute // for a fix that another client may be making
		outside = 5 * time.Minute // for a controller outside the cluster, which may still act
	)
	ends := func(after time.Duration) diagnose.Lasting { return diagnose.Lasting{Ends: true, After: after} }
	passes := diagnose.Lasting{After: decided}
	return map[string]diagnose.Lasting{
		FinalizerControllerGone:       ends(outside), // someone must install it
		FinalizerControllerScaledDown: ends(comes),   // someone must scale it up
		FinalizerControllerForbidden:  ends(comes),   // someone must grant it the right
		FinalizerControllerCrashing:   passes,        // a dependency may still be starting
		FinalizerControllerNotReady:   passes,        // it may be starting
		FinalizerControllerSilent:     passes,        // it may be cleaning up
		FinalizerUnknown:              passes,        // the cause is unknown
		BuiltInFinalizer:              passes,        // Kubernetes may only be slow
		ControllerManagerDown:         passes,        // it may come back
		LoadBalancerControllerGone:    ends(outside), // someone must install it

		WebhookUnreachable: passes,        // its Pods may come back
		WebhookRefuses:     passes,        // it may decide otherwise
		AdmissionRefuses:   passes,        // the server's answer is not understood
		UpdateInvalid:      ends(decided), // someone must fix the object
		UpdateFails:        passes,        // the server may recover

		APIServiceUnavailable:  passes,      // its Pods may come back
		GroupVersionUnreadable: ends(comes), // someone must fix the API
		NamespaceFinalizer:     passes,      // its controller may only be slow
		ContentRemains:         passes,      // it goes
		DeletionRefused:        passes,      // it will be retried
		ConditionStale:         passes,      // the controller will retry
		InstancesRemain:        passes,      // they may be deleted
		ConversionWebhookDown:  passes,      // its Pods may come back

		ForegroundDependents:  passes,      // they may be deleted
		OrphaningDependents:   passes,      // they may be released
		OwnerInOtherNamespace: ends(comes), // someone must fix the dependent

		ClaimInUse:           passes,      // the Pods may end
		VolumeBound:          ends(comes), // someone must delete the claim
		VolumeAttached:       passes,      // it may be detached
		VolumeDetachFailed:   passes,      // it will be retried
		VolumeDeletionFailed: passes,      // it will be retried

		PodGracePeriod:     passes, // it only takes time
		PodPastGracePeriod: passes, // the node may come back
		PodUnmounting:      passes, // it may finish
		NodeGone:           passes, // Kubernetes removes such Pods
		NodeNotReady:       passes, // the node may come back

		ServerFailing:    passes,      // it may recover
		ServerThrottling: passes,      // it may recover
		Undecryptable:    ends(comes), // someone must restore the key

		Progressing:    passes, // it goes
		NotPermitted:   passes, // the cause is unknown
		NotRead:        passes, // the cause is unknown
		NotTerminating: passes, // nothing waits for it
		Unknown:        passes, // the cause is unknown
	}
}

// Explained is a terminating object with its causes.
type Explained struct {
	Ref object.Ref
	// Since is the deletion timestamp, which is the end of the grace period.
	Since  time.Time
	Causes []event.Cause
}

// Root is a cause with all objects that it blocks.
type Root struct {
	Cause event.Cause
	// Holds lists the objects that the cause blocks, sorted.
	Holds []object.Ref
	Total int
}

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

// Roots groups objects by their first cause. The cause with the most objects comes first.
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
			// The object with the least evidence is blocked directly by the cause. An object that
			// waits for that object has more evidence.
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
