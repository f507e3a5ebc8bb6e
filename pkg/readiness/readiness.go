// Package readiness says when an object is ready, kind by kind (docs/readiness.md). [For] returns
// the rule of a kind, [Rule.Evaluate] applies it to one version, [Read] returns each [Statement] of
// a status. It reads no clock and sends no requests; an object without a status is not ready (edge
// case 48).
package readiness

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Rule says when objects of one kind are ready. It is safe for concurrent use.
type Rule struct {
	evaluate func(*subject) Verdict
	reads    [][]string
}

// For returns the rule of a kind.
func For(gvk schema.GroupVersionKind) Rule {
	if !NeedsSchema(gvk) {
		return ForStatusless(gvk)
	}
	return Rule{evaluate: conventions, reads: append(readsOfKinds(), Reads()...)}
}

// ForStatusless is [For] for a kind whose schema has no status: its objects are ready once they
// exist, unless the kind has its own rule.
func ForStatusless(gvk schema.GroupVersionKind) Rule {
	if rule := ruleOf(gvk.GroupKind()); rule != nil {
		return Rule{evaluate: rule, reads: readsOfKinds()}
	}
	return Rule{evaluate: conventionsOrExists, reads: append(readsOfKinds(), Reads()...)}
}

// NeedsSchema reports whether the kind's schema decides between [For] and [ForStatusless]. Many
// kinds have a rule that does not depend on it.
func NeedsSchema(gvk schema.GroupVersionKind) bool {
	return ruleOf(gvk.GroupKind()) == nil && !object.IsBuiltIn(gvk.Group)
}

// Reads returns the paths that the rule reads besides name and version, each with everything below
// it. In the managed fields it reads when each owner wrote, and whether it wrote the spec.
func (r Rule) Reads() [][]string { return r.reads }

func readsOfKinds() [][]string {
	return [][]string{
		{"status"},
		{"metadata", "creationTimestamp"},
		{"metadata", "annotations", autoscalerConditions},
		{"spec", "replicas"},
		{"spec", "paused"},
		{"spec", "progressDeadlineSeconds"},
		{"spec", "updateStrategy"},
		{"spec", "suspend"},
		{"spec", "type"},
		{"spec", "externalIPs"},
		{"spec", "volumeName"},
	}
}

// Evaluate returns the verdict on one version of an object; nil means that the object does not
// exist. With a zero now, nothing fails for having lasted too long, and there is no Recheck.
//
// Whatever the kind, an object is not ready while it is being deleted, while its controller has not
// observed its latest generation, and while its controller says that it is still working. An object
// that is Stalled has failed.
func (r Rule) Evaluate(obj map[string]any, now time.Time) Verdict {
	return r.EvaluateSince(obj, time.Time{}, now)
}

// EvaluateSince is [Rule.Evaluate] for a wait that began at the given time. An earlier error may
// have been fixed, so an error has to last from that time on.
func (r Rule) EvaluateSince(obj map[string]any, began, now time.Time) Verdict {
	if v, decided := Common(obj, now); decided {
		return v
	}
	s := newSubject(obj, now)
	s.began = began
	for _, common := range []func(*subject) (Verdict, bool){reconciling, stalled} {
		if v, decided := common(s); decided {
			return v
		}
	}
	return r.evaluate(s)
}

// Common evaluates what applies to every rule, including rules stated elsewhere: an object that
// does not exist, is being deleted, or has a status of another generation is not ready. It reports
// whether that decides.
func Common(obj map[string]any, now time.Time) (Verdict, bool) {
	if obj == nil {
		return unmet("Absent", "it does not exist"), true
	}
	s := newSubject(obj, now)
	for _, common := range []func(*subject) (Verdict, bool){terminating, stale} {
		if v, decided := common(s); decided {
			return v, true
		}
	}
	return Verdict{}, false
}

func terminating(s *subject) (Verdict, bool) {
	if s.text("metadata.deletionTimestamp") == "" {
		return Verdict{}, false
	}
	return unmet("Terminating", "it is being deleted", s.values("metadata.deletionTimestamp")...), true
}

// stale handles a status of another generation (edge case 47). An observed generation ahead of the
// object's own is from an earlier life: the object was restored from a backup together with its
// status.
func stale(s *subject) (Verdict, bool) {
	seen, found := s.whole("status.observedGeneration")
	if !found || s.generation == 0 || seen == s.generation {
		return Verdict{}, false
	}
	values := s.values("metadata.generation", "status.observedGeneration")
	if seen > s.generation {
		return unmet("StaleStatus", fmt.Sprintf("its status is of generation %d, and the object is only at generation %d: "+
			"the status was restored or copied from another object, and stays as it is until its controller writes a new one", seen, s.generation), values...), true
	}
	return unmet("StaleStatus",
		fmt.Sprintf("its status is of generation %d, and the object is at generation %d", seen, s.generation), values...), true
}

func reconciling(s *subject) (Verdict, bool) {
	c := s.condition("Reconciling")
	if !c.is("True") {
		return Verdict{}, false
	}
	return unmet("InProgress", "its controller still works on it"+c.detail(), c.value()), true
}

// stalled handles kstatus's convention for a controller that has stopped trying.
func stalled(s *subject) (Verdict, bool) {
	c := s.condition("Stalled")
	if !c.is("True") {
		return Verdict{}, false
	}
	return failed("Stalled", "its controller is stalled"+c.detail(), c.value()), true
}

// Verdict is the result of a rule for one version of one object.
type Verdict struct {
	Ready bool
	// Failed is terminal: the object is not ready, and will not be until something is changed.
	Failed bool
	// Reason is short and stable: InProgress, StaleStatus, JobFailed, Absent.
	Reason string
	// Message is one sentence for people. It may quote the cluster.
	Message string
	// Values are the values behind the verdict.
	Values []Value
	// Recheck is the time after which the verdict may differ although the object does not; zero if
	// only a change of the object can change it.
	Recheck time.Duration
}

// Value is a value of an object.
type Value struct {
	// Expr is its place: self.status.readyReplicas.
	Expr string
	// Value is a JSON value.
	Value any
	// Absent is set if there is nothing at that place.
	Absent bool
}

func met(message string, values ...Value) Verdict {
	return Verdict{Ready: true, Reason: "Ready", Message: message, Values: values}
}

func unmet(reason, message string, values ...Value) Verdict {
	return Verdict{Reason: reason, Message: message, Values: values}
}

func failed(reason, message string, values ...Value) Verdict {
	return Verdict{Failed: true, Reason: reason, Message: message, Values: values}
}
