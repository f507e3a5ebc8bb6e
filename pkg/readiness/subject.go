package readiness

import (
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/status"
)

// subject is one version of one object, as the rules of readiness read it. Paths
// are names with dots between them. What is not of the type that a rule expects is
// as good as absent.
type subject struct {
	obj map[string]any
	now time.Time
	// began is when somebody began to wait; zero where nobody does.
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

// at returns what is at a path.
func at(obj map[string]any, path string) (any, bool) {
	var v any = obj
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, v != nil
}

func textAt(obj map[string]any, path string) string {
	v, _ := at(obj, path)
	text, _ := v.(string)
	return text
}

// wholeAt reads a whole number; false where there is none.
func wholeAt(obj map[string]any, path string) (int64, bool) {
	v, _ := at(obj, path)
	return object.WholeNumber(v)
}

// timeAt reads a time; zero where there is none.
func timeAt(obj map[string]any, path string) time.Time {
	t, err := time.Parse(time.RFC3339, textAt(obj, path))
	if err != nil {
		return time.Time{}
	}
	return t
}

// mapsAt reads a list of objects.
func mapsAt(obj map[string]any, path string) []map[string]any {
	v, _ := at(obj, path)
	list, _ := v.([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func (s *subject) text(path string) string           { return textAt(s.obj, path) }
func (s *subject) whole(path string) (int64, bool)   { return wholeAt(s.obj, path) }
func (s *subject) time(path string) time.Time        { return timeAt(s.obj, path) }
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

// lasting judges what fails only when it has lasted for a while: soon is the
// verdict until then. A time that nobody wrote down is long ago.
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
