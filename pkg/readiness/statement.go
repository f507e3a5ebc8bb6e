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

// The meanings, ordered from best to worst.
const (
	// Nothing means that the statement is not understood, or not relevant.
	Nothing Meaning = iota
	// Step means that a step is done, which alone never makes the object ready.
	Step
	// Good means that something is as it should be.
	Good
	// NotYet means that a step is not done. The step may be optional, so the statement matters only
	// if no other statement says that the object is ready.
	NotYet
	// Odd means that the statement is about the whole object, but uses an unknown word.
	Odd
	// Working means that something is being changed, or is not yet as it should be.
	Working
	// Paused means that the object was paused on purpose.
	Paused
	// Bad means that something is wrong, but the object may recover.
	Bad
	// Failed means that the object has failed for good.
	Failed
)

// Statement is a statement that an object makes about itself.
type Statement struct {
	// Path is the location of the statement in the object, such as
	// self.status.conditions[type="Ready"].status.
	Path string
	// Name is the condition's type, or the field's name.
	Name string
	// Within is the part of the object that the statement is about, such as a listener. It is empty
	// for the whole object.
	Within string
	// Value is the value at Path, such as True, Failed or 2.
	Value any
	// Reason and Message are the reason and the message of the condition.
	Reason, Message string
	Meaning
	// Sum is set if the statement is about the whole object, like Ready or the phase.
	Sum bool
	// Condition is set if the statement is a condition.
	Condition bool
	// Final is set if Reason is an error that does not resolve itself.
	Final bool
	// Since is the time at which the condition last changed; zero if that is unknown.
	Since time.Time
	// Old is set if the statement is about Generation, an earlier generation of the object. Its
	// meaning is then Nothing.
	Old        bool
	Generation int64
}

// String returns the statement as a sentence: "Ready is False (NoDisk): the disk is full".
func (s Statement) String() string {
	message := s.Name + " is " + text.OneLine(fmt.Sprint(s.Value))
	if s.Within != "" {
		message = text.OneLine(s.Within) + ": " + message
	}
	return message + s.Detail()
}

// Detail returns the reason and the message as the end of a sentence.
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

// Complains reports whether the statement reports a fault. An object that is merely not ready yet
// has no fault: in a normal rollout, Available is False because of MinimumReplicasUnavailable.
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

// statusCondition is the zero value if the object lacks the condition.
type statusCondition struct {
	kind, status, reason, message string
	// path is the path of the list that contains the condition: status.conditions.
	path string
	// generation is the generation that the condition observed; zero if unknown.
	generation int64
	// old is set if the condition observed an earlier generation (edge case 47,
	// https://github.com/kubernetes/kubernetes/issues/97408).
	old bool
	// when is the time of the last transition. updated is the time of the last write, which few
	// kinds record.
	when, updated time.Time
}

// conditionsAt ignores malformed items.
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

func (c statusCondition) is(status string) bool { return c.status == status && !c.old }

func (c statusCondition) exists() bool { return c.status != "" }

func (c statusCondition) detail() string { return Detail(c.reason, c.message) }

func (c statusCondition) value() Value {
	v := Value{Expr: "self." + c.path + `[type="` + c.kind + `"].status`, Absent: !c.exists()}
	if c.exists() {
		v.Value = c.status
	}
	return v
}

func (c statusCondition) generationValue() Value {
	return Value{Expr: "self." + c.path + `[type="` + c.kind + `"].observedGeneration`, Value: c.generation}
}

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

func wholeAt(obj map[string]any, path string) (int64, bool) {
	v, _ := at(obj, path)
	return object.WholeNumber(v)
}

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

type reader struct {
	generation int64
	kind       []string
	// ends is set if the object represents work that ends, for which running is not the goal.
	ends bool
	// observed is set if the status is for the current generation.
	observed bool
	out      []Statement
}

// isWhole reports whether a name refers to the whole object: at most one of its words is missing
// from the kind's name.
func (r *reader) isWhole(words []string) bool {
	left := 0
	for _, word := range words {
		if !slices.Contains(r.kind, word) && !slices.Contains([]string{"to", "use", "condition"}, word) && !isNegation(word) {
			left++
		}
	}
	return left <= 1
}

func (r *reader) meaning(c class, negated bool, message object.Condition) Meaning {
	wrong := isErrorReason(message.Reason)
	switch {
	case message.Status == "Unknown":
		if c == good && !negated {
			return Working
		}
		return Nothing
	case message.Severity == "Info" || message.Status == "False" && isBenign(message.Reason):
		return Nothing
	}
	switch truth := message.Status == "True"; c {
	case good, mild, runs:
		return r.positive(c, truth != negated, wrong)
	case bad:
		if truth != negated {
			if isStop(message.Type) {
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
		case truth != negated && message.Reason == "" && strings.HasSuffix(message.Type, "Progressing"):
			return Nothing // Deployments keep this condition when they are done.
		case truth != negated && !isDone(message.Reason):
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

// isStop reports whether a condition means that the controller has given up. A condition named
// Failure does not mean that: operators built with Ansible set it for the previous run.
func isStop(kind string) bool {
	words := split(kind)
	last := words[len(words)-1]
	return len(words) == 1 && (last == "failed" || last == "stalled") || last == "terminal"
}

// isPast reports whether the name of a field refers to the past or the future.
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
