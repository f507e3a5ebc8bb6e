package readiness

import (
	"fmt"
	"time"
)

// subject is one version of an object that a rule evaluates. Paths are names separated by dots. A
// value of an unexpected type is treated as absent.
type subject struct {
	obj        map[string]any
	now        time.Time
	began      time.Time // the start of the wait; zero if there is no wait
	generation int64
	conditions []statusCondition
}

func newSubject(obj map[string]any, now time.Time) *subject {
	s := &subject{obj: obj, now: now}
	s.generation, _ = s.integer("metadata.generation")
	s.conditions = conditionsAt(obj, s.generation, "status.conditions")
	return s
}

func (s *subject) text(path string) string { return textAt(s.obj, path) }

func (s *subject) integer(path string) (int64, bool) { return wholeAt(s.obj, path) }

func (s *subject) time(path string) time.Time { return timeAt(s.obj, path) }

func (s *subject) maps(path string) []map[string]any {
	v, _ := at(s.obj, path)
	list, _ := v.([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// count reads a number that the API omits when it is zero.
func (s *subject) count(path string) int64 {
	n, _ := s.integer(path)
	return n
}

// wanted reads a number that defaults to 1, such as replicas.
func (s *subject) wanted(path string) int64 {
	if n, found := s.integer(path); found {
		return n
	}
	return 1
}

func (s *subject) isTrue(path string) bool {
	v, _ := at(s.obj, path)
	yes, _ := v.(bool)
	return yes
}

func (s *subject) values(paths ...string) []Value {
	out := make([]Value, len(paths))
	for i, path := range paths {
		v, found := at(s.obj, path)
		out[i] = Value{Expr: "self." + path, Value: v, Absent: !found}
	}
	return out
}

// lasting returns the verdict on a fault that counts as a failure only after a grace period. During
// that period, which begins at the given time (since), the result is the given verdict (soon).
// After it, the verdict is marked as failed. If since is zero, the period is over.
func (s *subject) lasting(since time.Time, grace time.Duration, soon Verdict) Verdict {
	if s.now.IsZero() {
		return soon
	}
	if left := since.Add(grace).Sub(s.now); left > 0 {
		soon.Recheck = min(left, grace) // The server's clock may be ahead.
		return soon
	}
	soon.Failed = true
	return soon
}

// condition returns the condition of the given type, even if it is of an earlier generation.
func (s *subject) condition(kind string) statusCondition {
	for _, c := range s.conditions {
		if c.kind == kind {
			return c
		}
	}
	return statusCondition{kind: kind, path: "status.conditions"}
}

// specChanged returns the time of the last write to the spec, according to managedFields. Writes
// through /scale are not included, because the API server records no time for them.
func specChanged(s *subject) time.Time {
	var last time.Time
	for _, entry := range s.maps("metadata.managedFields") {
		if _, spec := at(entry, "fieldsV1.f:spec"); spec {
			last = latest(last, timeAt(entry, "time"))
		}
	}
	return last
}

// evaluateJob requires a Job to have completed. A running Job is not ready.
func evaluateJob(s *subject) Verdict {
	tally := fmt.Sprintf("Pods: %d succeeded, %d failed, %d running", s.count("status.succeeded"), s.count("status.failed"), s.count("status.active"))
	counts := s.values("status.succeeded", "status.failed", "status.active")
	for _, kind := range []string{"Failed", "FailureTarget"} {
		// The condition FailureTarget precedes Failed: the Job will fail, and its Pods are being
		// stopped.
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
	if s.isTrue("spec.suspend") {
		return unmet("Suspended", "it is suspended: it runs no Pods", s.values("spec.suspend")...)
	}
	if s.text("status.startTime") == "" {
		return unmet("NoStatus", "it has not started yet", s.values("status.startTime")...)
	}
	return unmet("InProgress", "it is still running: "+tally, counts...)
}

// evaluateRun applies Tekton's convention for work that runs once: its condition Succeeded is
// Unknown during the run, and False after a failure.
func evaluateRun(s *subject) Verdict {
	c := s.condition("Succeeded")
	if c.is("False") {
		return failed("Failed", "it has failed"+c.detail(), c.value())
	}
	return needs("Succeeded")(s)
}
