package readiness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Meaning is what a statement means for the object's readiness.
type Meaning int

// The meanings, from best to worst.
const (
	// Nothing: it is not understood, or not relevant.
	Nothing Meaning = iota
	// Step: a step is done, which is never enough.
	Step
	// Good: something is as it should be.
	Good
	// NotYet: a step is not done. It may be optional, so it matters only if nothing says that the
	// object is ready.
	NotYet
	// Odd: an unknown word sums the object up.
	Odd
	// Working: something is not yet as it should be, or is being changed.
	Working
	// Paused: it was stopped on purpose.
	Paused
	// Bad: something is wrong, but may recover.
	Bad
	// Failed: it has failed for good.
	Failed
)

// Statement is a statement of an object about itself.
type Statement struct {
	// Path is its path: self.status.conditions[type="Ready"].status.
	Path string
	// Name is the condition's type, or the field's name.
	Name string
	// Within is the part that it is about, such as a listener; empty for the whole status.
	Within string
	// Value is the value: True, Failed, 2.
	Value any
	// Reason and Message are the condition's.
	Reason, Message string
	Meaning
	// Sum: it is about the whole object, like Ready or the phase.
	Sum bool
	// Condition: it is a condition.
	Condition bool
	// Final: the reason does not pass with time.
	Final bool
	// Since is when the condition last changed; zero if unknown.
	Since time.Time
	// Old: it is about an earlier generation of the object, Generation. Its meaning is Nothing.
	Old        bool
	Generation int64
}

// String returns the statement: "Ready is False (NoDisk): the disk is full".
func (s Statement) String() string {
	said := s.Name + " is " + text.OneLine(fmt.Sprint(s.Value))
	if s.Within != "" {
		said = text.OneLine(s.Within) + ": " + said
	}
	return said + s.Detail()
}

// Detail returns reason and message as the end of a sentence.
func (s Statement) Detail() string { return Detail(s.Reason, s.Message) }

// Detail formats a reason and a message as the end of a sentence.
func Detail(reason, message string) string {
	said := ""
	if reason != "" {
		said = " (" + text.OneLine(reason) + ")"
	}
	if message != "" {
		said += ": " + text.OneLine(message)
	}
	return said
}

// Complains reports whether the statement reports a fault, and not only that the object is not
// ready yet: in a normal rollout, Available is False because of MinimumReplicasUnavailable.
func (s Statement) Complains() bool {
	if s.Old || s.Meaning != Bad && s.Meaning != Failed {
		return false
	}
	name, reason := split(s.Name), split(s.Reason)
	restated := s.Condition && len(name) > 0 && len(reason) > 0 && reason[len(reason)-1] == "un"+name[len(name)-1]
	return s.Meaning == Failed || !restated
}

// IsPositive reports whether True is good for a condition with this name, such as Ready.
func (s Statement) IsPositive() bool {
	c, negated := nameClass(split(s.Name))
	return c == good && !negated
}

// statusCondition is one of an object's conditions; zero if it is missing.
type statusCondition struct {
	kind, status, reason, message string
	// path is the path of the list: status.conditions.
	path string
	// generation is the observed generation; zero if unknown.
	generation int64
	// old: it is about an earlier generation, and says nothing about the present one (edge case 47,
	// https://github.com/kubernetes/kubernetes/issues/97408).
	old bool
	// when is the time of its last transition, updated that of its last write, which few kinds
	// record.
	when, updated time.Time
}

// conditionsAt reads the conditions at a path. It ignores malformed items.
func conditionsAt(obj map[string]any, generation int64, path string) []statusCondition {
	var out []statusCondition
	list, _ := at(obj, path)
	for _, c := range object.ConditionsIn(list) {
		out = append(out, statusCondition{
			kind: c.Type, status: c.Status, reason: c.Reason, message: c.Message,
			path: path, when: c.Changed, updated: c.Updated, generation: c.ObservedGeneration,
			// Some controllers copy conditions from other objects, whose generation may be higher.
			old: c.ObservedGeneration > 0 && c.ObservedGeneration < generation,
		})
	}
	return out
}

// is reports whether the condition has the status, for the current generation.
func (c statusCondition) is(status string) bool { return c.status == status && !c.old }

// there reports whether the condition exists.
func (c statusCondition) there() bool { return c.status != "" }

// detail returns the condition's reason and message as the end of a sentence.
func (c statusCondition) detail() string { return Detail(c.reason, c.message) }

func (c statusCondition) value() Value {
	v := Value{Expr: "self." + c.path + `[type="` + c.kind + `"].status`, Absent: !c.there()}
	if c.there() {
		v.Value = c.status
	}
	return v
}

func (c statusCondition) generationValue() Value {
	return Value{Expr: "self." + c.path + `[type="` + c.kind + `"].observedGeneration`, Value: c.generation}
}

// at returns the value at a path.
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

// wholeAt reads a whole number; false if there is none.
func wholeAt(obj map[string]any, path string) (int64, bool) {
	v, _ := at(obj, path)
	return object.WholeNumber(v)
}

// timeAt reads a time; zero if there is none.
func timeAt(obj map[string]any, path string) time.Time {
	t, err := time.Parse(time.RFC3339, textAt(obj, path))
	if err != nil {
		return time.Time{}
	}
	return t
}

func latest(times ...time.Time) time.Time {
	var last time.Time
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// reader reads the statements of one object.
type reader struct {
	generation int64
	kind       []string
	// ends: the object represents work that ends, so running is not its goal.
	ends bool
	// observed: the status is for the current generation.
	observed bool
	out      []Statement
}

// isWhole reports whether a name is about the whole object: it has at most one word that is not in
// the kind.
func (r *reader) isWhole(words []string) bool {
	left := 0
	for _, word := range words {
		if !slices.Contains(r.kind, word) && !slices.Contains([]string{"to", "use", "condition"}, word) && !isNegation(word) {
			left++
		}
	}
	return left <= 1
}

func (r *reader) meaning(c class, negated bool, said object.Condition) Meaning {
	wrong := isErrorReason(said.Reason)
	switch {
	case said.Status == "Unknown":
		if c == good && !negated {
			return Working
		}
		return Nothing
	case said.Severity == "Info" || said.Status == "False" && isBenign(said.Reason):
		return Nothing
	}
	switch truth := said.Status == "True"; c {
	case good, mild, runs:
		return r.positive(c, truth != negated, wrong)
	case bad:
		if truth != negated {
			if isStop(said.Type) {
				return Failed
			}
			return Bad
		}
	case paused:
		if truth != negated {
			return Paused
		}
	case working:
		switch {
		case truth != negated && said.Reason == "" && strings.HasSuffix(said.Type, "Progressing"):
			return Nothing // Deployments keep this condition when they are done.
		case truth != negated && !isDone(said.Reason):
			return orBad(wrong, Working)
		case truth == negated:
			return orBad(wrong, Nothing)
		}
	case step:
		if truth != negated {
			return orBad(wrong, Step)
		}
		return orBad(wrong, NotYet)
	case neutral:
		return Nothing
	default:
		return orBad(wrong, Nothing)
	}
	return Nothing
}

// positive returns the meaning of a name for which true is good.
func (r *reader) positive(c class, truth, wrong bool) Meaning {
	switch {
	case wrong:
		return Bad
	case !truth && c != good:
		return NotYet
	case !truth:
		return Working
	case c == runs && r.ends:
		return Working // It is running, but should end.
	}
	return Good
}

func orBad(wrong bool, m Meaning) Meaning {
	if wrong {
		return Bad
	}
	return m
}

// isStop reports whether a condition means that the controller has given up. Failure does not:
// operators built with Ansible set it for the run before the next one.
func isStop(kind string) bool {
	words := split(kind)
	last := words[len(words)-1]
	return len(words) == 1 && (last == "failed" || last == "stalled") || last == "terminal"
}

// isPast reports whether a field is about the past or the future.
func isPast(words []string) bool {
	return slices.Contains([]string{
		"last", "previous", "prev", "old", "former", "desired", "target", "expected", "requested", "initial",
		"deprecated", "history", "past", "next",
	}, words[0])
}

func enough(n, of int64) Meaning {
	switch {
	case n < of:
		return Working
	case of == 0:
		return Nothing // Nothing is wanted, or the controller has not counted yet.
	}
	return Good
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
