package readiness

import (
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Meaning is what a statement means for the object.
type Meaning int

// The meanings, from the best to the worst.
const (
	// Nothing: it is not understood, or of no consequence.
	Nothing Meaning = iota
	// Step: something on the way is done. That is never enough.
	Step
	// Good: something is as it should be.
	Good
	// NotYet: something on the way is not done. It may be optional, so that it counts
	// only where nothing says that the object is ready.
	NotYet
	// Odd: an unknown word stands where the object sums itself up.
	Odd
	// Working: something is not as it should be yet, or is being changed.
	Working
	// Paused: it was stopped on purpose.
	Paused
	// Bad: something is wrong, and may come right by itself.
	Bad
	// Failed: it is over.
	Failed
)

// Statement is one thing that an object says of itself.
type Statement struct {
	// Path is where it stands: self.status.conditions[type="Ready"].status.
	Path string
	// Name is the type of the condition, or the name of the field below the status.
	Name string
	// Within is of which part of the status it is, such as a listener; empty for the
	// status itself.
	Within string
	// Value is what it says: True, Failed, 2.
	Value any
	// Reason and Message are what it says beside that.
	Reason, Message string
	Meaning
	// Sum reports whether it is of the object as a whole, such as Ready or the phase.
	Sum bool
	// Condition reports whether it is one of the conditions.
	Condition bool
	// Final reports whether what is wrong has a reason that time alone does not cure.
	Final bool
	// Since is when the condition last changed; zero where it does not say.
	Since time.Time
	// Old reports whether it was written for an earlier generation of the object,
	// which is Generation. Its meaning is Nothing.
	Old        bool
	Generation int64
}

// String is what the statement says: Ready is False (NoDisk): the disk is full.
func (s Statement) String() string {
	said := s.Name + " is " + text.OneLine(fmt.Sprint(s.Value))
	if s.Within != "" {
		said = text.OneLine(s.Within) + ": " + said
	}
	return said + s.Detail()
}

// Detail is what the statement says beside its value, to follow a sentence.
func (s Statement) Detail() string { return Detail(s.Reason, s.Message) }

// Detail puts a reason and a message into the form in which they follow a sentence.
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

// Complains reports whether the statement says what is wrong, and not only that it is not
// well yet: Available is False because of MinimumReplicasUnavailable while a rollout goes on
// as it should.
func (s Statement) Complains() bool {
	if s.Old || s.Meaning != Bad && s.Meaning != Failed {
		return false
	}
	name, reason := split(s.Name), split(s.Reason)
	restated := s.Condition && len(name) > 0 && len(reason) > 0 && reason[len(reason)-1] == "un"+name[len(name)-1]
	return s.Meaning == Failed || !restated
}

// IsPositive reports whether the name is one that is good where it is true, such as Ready.
func (s Statement) IsPositive() bool {
	c, negated := nameClass(split(s.Name))
	return c == good && !negated
}
