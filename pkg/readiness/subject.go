package readiness

import (
	"fmt"
	"time"
)

// subject is one version of one object for the rules of readiness. Paths are names separated by
// dots. A value of an unexpected type counts as absent.
type subject struct {
	obj map[string]any
	now time.Time
	// began is when the wait began; zero without a wait.
	began      time.Time
	generation int64
	conditions []statusCondition
}

func newSubject(obj map[string]any, now time.Time) *subject {
	s := &subject{obj: obj, now: now}
	s.generation, _ = s.whole("metadata.generation")
	s.conditions = conditionsAt(obj, s.generation, "status.conditions")
	return s
}

// said returns all statements of the object about itself.
func (s *subject) said() []Statement { return Read(s.obj) }

func (s *subject) text(path string) string { return textAt(s.obj, path) }

func (s *subject) whole(path string) (int64, bool) { return wholeAt(s.obj, path) }

func (s *subject) time(path string) time.Time { return timeAt(s.obj, path) }

func (s *subject) maps(path string) []map[string]any { return mapsAt(s.obj, path) }

// count reads a number that the API omits if it is zero.
func (s *subject) count(path string) int64 {
	n, _ := s.whole(path)
	return n
}

// wanted reads a number that defaults to 1, such as replicas.
func (s *subject) wanted(path string) int64 {
	if n, found := s.whole(path); found {
		return n
	}
	return 1
}

func (s *subject) yes(path string) bool {
	v, _ := at(s.obj, path)
	yes, _ := v.(bool)
	return yes
}

// values returns the values at some paths, for a verdict.
func (s *subject) values(paths ...string) []Value {
	out := make([]Value, len(paths))
	for i, path := range paths {
		v, found := at(s.obj, path)
		out[i] = Value{Expr: "self." + path, Value: v, Absent: !found}
	}
	return out
}

// lasting evaluates a fault that fails only once it has lasted for a while. Until then, soon is the
// verdict. An unknown time counts as long ago.
func (s *subject) lasting(since time.Time, grace time.Duration, soon Verdict) Verdict {
	if s.now.IsZero() {
		return soon
	}
	if left := since.Add(grace).Sub(s.now); left > 0 {
		soon.Recheck = min(left, grace) // The clocks may disagree.
		return soon
	}
	soon.Failed = true
	return soon
}

// condition returns the condition of a type, of any generation.
func (s *subject) condition(kind string) statusCondition {
	for _, c := range s.conditions {
		if c.kind == kind {
			return c
		}
	}
	return statusCondition{kind: kind, path: "status.conditions"}
}

// specChanged returns when the spec was last written, as far as managedFields show it: the API
// server records no time for a write through /scale.
func specChanged(s *subject) time.Time {
	var last time.Time
	for _, entry := range s.maps("metadata.managedFields") {
		if _, spec := at(entry, "fieldsV1.f:spec"); spec {
			last = latest(last, timeAt(entry, "time"))
		}
	}
	return last
}

// evaluateJob calls a Job ready once it has completed. A running Job is not ready.
func evaluateJob(s *subject) Verdict {
	tally := fmt.Sprintf("Pods: %d succeeded, %d failed, %d running", s.count("status.succeeded"), s.count("status.failed"), s.count("status.active"))
	counts := s.values("status.succeeded", "status.failed", "status.active")
	for _, kind := range []string{"Failed", "FailureTarget"} {
		// FailureTarget comes first: the failure is decided, and the Pods are being stopped.
		if c := s.condition(kind); c.is("True") {
			return failed("JobFailed", "it has failed"+c.detail()+"; "+tally, append(counts, c.value())...)
		}
	}
	if c := s.condition("Complete"); c.is("True") {
		return met("it is complete: "+tally, append(counts, c.value())...)
	}
	if c := s.condition("SuccessCriteriaMet"); c.is("True") {
		return unmet("InProgress", "it has succeeded, and its last Pods are being stopped: "+tally, append(counts, c.value())...)
	}
	if s.yes("spec.suspend") {
		return unmet("Suspended", "it is suspended: it runs no Pods", s.values("spec.suspend")...)
	}
	if s.text("status.startTime") == "" {
		return unmet("NoStatus", "it has not started yet", s.values("status.startTime")...)
	}
	return unmet("InProgress", "it still runs: "+tally, counts...)
}

// evaluateRun is Tekton's convention for work that runs once: Succeeded is Unknown while it runs,
// and False at a failed end.
func evaluateRun(s *subject) Verdict {
	c := s.condition("Succeeded")
	if c.is("False") {
		return failed("Failed", "it has failed"+c.detail(), c.value())
	}
	return needs("Succeeded")(s)
}
