// Package readiness decides when an object is ready, kind by kind (docs/readiness.md). [For]
// returns a kind's rule, [Rule.Evaluate] applies it to one version of an object, and [Read] returns
// each [Statement] in a status. An object without a status is not ready (edge case 48). The package
// does not read the clock and sends no requests.
package readiness

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Rule decides when objects of a kind are ready. It is safe for concurrent use.
type Rule struct {
	evaluate func(*subject) Verdict
	reads    [][]string
}

// For returns the rule for a kind.
func For(gvk schema.GroupVersionKind) Rule {
	if !NeedsSchema(gvk) {
		return ForStatusless(gvk)
	}
	return Rule{evaluate: conventions, reads: append(readsOfKinds(), Reads()...)}
}

// ForStatusless is [For] for a kind whose schema has no status. Its objects are ready once they
// exist, unless the kind has its own rule.
func ForStatusless(gvk schema.GroupVersionKind) Rule {
	if rule := ruleOf(gvk.GroupKind()); rule != nil {
		return Rule{evaluate: rule, reads: readsOfKinds()}
	}
	return Rule{evaluate: conventionsOrExists, reads: append(readsOfKinds(), Reads()...)}
}

// NeedsSchema reports whether the choice between [For] and [ForStatusless] depends on the kind's
// schema. For many kinds it does not.
func NeedsSchema(gvk schema.GroupVersionKind) bool {
	return ruleOf(gvk.GroupKind()) == nil && !object.IsBuiltIn(gvk.Group)
}

// Reads returns the paths that the rule reads, each including everything below it. The rule also
// reads the name and the version. From the managed fields, it reads the time of each owner's last
// write, and whether the owner wrote the spec.
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

// Evaluate returns the verdict on one version of an object. obj is nil if the object does not
// exist. If now is zero, no fault counts as lasting, and there is no Recheck.
//
// An object of any kind is not ready while it is being deleted, or while its status is for another
// generation. It is not ready while its controller reports that it is still working. A Stalled
// object has failed.
func (r Rule) Evaluate(obj map[string]any, now time.Time) Verdict {
	return r.EvaluateSince(obj, time.Time{}, now)
}

// EvaluateSince is [Rule.Evaluate] for a wait that began at the given time. Errors count as lasting
// only from that time on, because earlier ones may have been fixed.
func (r Rule) EvaluateSince(obj map[string]any, began, now time.Time) Verdict {
	if v, decided := Settles(obj, now); decided {
		return v
	}
	s := newSubject(obj, now)
	s.began = began
	if c := s.condition("Reconciling"); c.is("True") {
		return unmet("InProgress", "its controller is still working on it"+c.detail(), c.value())
	}
	if c := s.condition("Stalled"); c.is("True") { // kstatus's convention for a controller that has given up
		return failed("Stalled", "its controller is stalled"+c.detail(), c.value())
	}
	return r.evaluate(s)
}

// Settles evaluates the conditions common to all rules, including rules in other packages. An object
// that does not exist, is being deleted, or has a status for another generation is not ready.
// Common reports whether this settles the verdict.
func Settles(obj map[string]any, now time.Time) (Verdict, bool) {
	if obj == nil {
		return unmet("Absent", "it does not exist"), true
	}
	s := newSubject(obj, now)
	if s.text("metadata.deletionTimestamp") != "" {
		return unmet("Terminating", "it is being deleted", s.values("metadata.deletionTimestamp")...), true
	}
	return stale(s)
}

// stale returns the verdict for a status of another generation (edge case 47). The observed
// generation may be higher if the object was restored from a backup together with its status.
func stale(s *subject) (Verdict, bool) {
	seen, found := s.integer("status.observedGeneration")
	if !found || s.generation == 0 || seen == s.generation {
		return Verdict{}, false
	}
	values := s.values("metadata.generation", "status.observedGeneration")
	if seen > s.generation {
		return unmet("StaleStatus", fmt.Sprintf("its status is for generation %d, but the object is only at generation %d: "+
			"the status was restored or copied from another object, and stays until its controller writes a new one", seen, s.generation), values...), true
	}
	return unmet("StaleStatus",
		fmt.Sprintf("its status is for generation %d, but the object is at generation %d", seen, s.generation), values...), true
}

// Verdict is the result of a rule for one version of an object.
type Verdict struct {
	Ready bool
	// Failed is set if the object is not ready, and will not be until someone changes something.
	Failed bool
	// Reason is a single stable word, such as InProgress, StaleStatus, JobFailed or Absent.
	Reason string
	// Message is a single sentence, which may quote text from the cluster.
	Message string
	// Values are the values on which the verdict is based.
	Values []Value
	// Recheck is the time after which the verdict may change even if the object does not; zero for
	// never.
	Recheck time.Duration
}

// Value is a value in an object.
type Value struct {
	// Expr is the path of the value, such as self.status.readyReplicas.
	Expr string
	// Value is a JSON value.
	Value any
	// Absent is set if there is no value at the path.
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
