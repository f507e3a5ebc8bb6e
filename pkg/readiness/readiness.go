package readiness

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Rule says when objects of one kind are ready. It is safe for concurrent use.
type Rule struct {
	evaluate func(*subject) Verdict
}

// For returns the rule of a kind. s is the kind's OpenAPI schema, nil where it is not
// known; it matters to kinds that have no rule of their own: see [NeedsSchema].
func For(gvk schema.GroupVersionKind, s *spec.Schema) Rule {
	if rule := ruleOf(gvk.GroupKind()); rule != nil {
		return Rule{rule}
	}
	if isBuiltIn(gvk.Group) || hasNoStatus(s) {
		return Rule{conventionsOrExists}
	}
	return Rule{conventions}
}

// NeedsSchema reports whether For can make use of the schema of a kind. The rules of many
// kinds are known by heart.
func NeedsSchema(gvk schema.GroupVersionKind) bool {
	return ruleOf(gvk.GroupKind()) == nil && !isBuiltIn(gvk.Group)
}

// Reads returns what rules read of an object beside its name and version: paths of fields
// from the root, each with all below it. Of its managed fields they read when each owner
// wrote, and whether it was the spec.
func Reads() [][]string {
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

// Evaluate says how ready one version of one object is; nil means that it does not exist.
// With a zero now, nothing that is a matter of time fails, and there is no Recheck.
//
// Whatever the kind, an object is not ready while it is being deleted, while its
// controller has not looked at its latest generation, and while its controller
// says that it still works on it. What is Stalled has failed.
func (r Rule) Evaluate(obj map[string]any, now time.Time) Verdict {
	if obj == nil {
		return unmet("Absent", "it does not exist")
	}
	s := newSubject(obj, now)
	for _, common := range []func(*subject) (Verdict, bool){terminating, stale, reconciling, stalled} {
		if v, decided := common(s); decided {
			return v
		}
	}
	return r.evaluate(s)
}

func terminating(s *subject) (Verdict, bool) {
	if s.text("metadata.deletionTimestamp") == "" {
		return Verdict{}, false
	}
	return unmet("Terminating", "it is being deleted", s.values("metadata.deletionTimestamp")...), true
}

// stale is edge case 47. A generation that is ahead of the object's own is of
// another life of it: it was restored from a backup together with its status.
func stale(s *subject) (Verdict, bool) {
	seen, found := s.whole("status.observedGeneration")
	if !found || s.generation == 0 || seen == s.generation {
		return Verdict{}, false
	}
	return unmet("StaleStatus",
		fmt.Sprintf("its status is of generation %d, and the object is at generation %d", seen, s.generation),
		s.values("metadata.generation", "status.observedGeneration")...), true
}

func reconciling(s *subject) (Verdict, bool) {
	c := s.condition("Reconciling")
	if !c.is("True") {
		return Verdict{}, false
	}
	return unmet("InProgress", "its controller still works on it"+c.told(), c.value()), true
}

// stalled is kstatus's convention for a controller that does not try any more.
func stalled(s *subject) (Verdict, bool) {
	c := s.condition("Stalled")
	if !c.is("True") {
		return Verdict{}, false
	}
	return failed("Stalled", "its controller is stalled"+c.told(), c.value()), true
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
