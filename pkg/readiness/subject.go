package readiness

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/status"
)

// subject is one version of one object, as the rules of readiness read it. Paths
// are names with dots between them. What is not of the type that a rule expects is
// as good as absent.
type subject struct {
	obj map[string]any
	now time.Time
	// began is when the wait began; zero without one.
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

// said is all that the object says of itself.
func (s *subject) said() []status.Statement { return status.Read(s.obj) }

func (s *subject) text(path string) string { return textAt(s.obj, path) }

func (s *subject) whole(path string) (int64, bool) { return wholeAt(s.obj, path) }

func (s *subject) time(path string) time.Time { return timeAt(s.obj, path) }

func (s *subject) maps(path string) []map[string]any { return mapsAt(s.obj, path) }

// count reads a number that the API leaves out where it is zero.
func (s *subject) count(path string) int64 {
	n, _ := s.whole(path)
	return n
}

// wanted reads a number that is 1 where it is left out, such as replicas.
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

// values are what is at some paths, for a verdict.
func (s *subject) values(paths ...string) []Value {
	out := make([]Value, len(paths))
	for i, path := range paths {
		v, found := at(s.obj, path)
		out[i] = Value{Expr: "self." + path, Value: v, Absent: !found}
	}
	return out
}

// lasting evaluates what fails only when it has lasted for a while: soon is the verdict until
// then. A time that was not written down is long ago.
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

// condition returns the condition of a type, whatever generation it is of.
func (s *subject) condition(kind string) statusCondition {
	for _, c := range s.conditions {
		if c.kind == kind {
			return c
		}
	}
	return statusCondition{kind: kind, path: "status.conditions"}
}

// specChanged is when the spec was last written, as far as managedFields tell: the API
// server gives no time for a write through /scale.
func specChanged(s *subject) time.Time {
	var last time.Time
	for _, entry := range s.maps("metadata.managedFields") {
		if _, spec := at(entry, "fieldsV1.f:spec"); spec {
			last = latest(last, timeAt(entry, "time"))
		}
	}
	return last
}
