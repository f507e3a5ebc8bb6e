package event

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Actions of wait, besides Failed, Unknown, and Gone: an object that a selector found was
// deleted before it met its conditions.
const (
	Met Action = "met"
	// TimedOut objects did not meet their conditions in time.
	TimedOut Action = "timeout"
	// Unmet objects had not met theirs when the wait ended for another reason.
	Unmet Action = "unmet"
	// Unselected objects were found by labels, and are no longer: they were deleted, or
	// have other labels now. A watch by labels does not distinguish the two.
	Unselected Action = "unselected"
)

// Awaited adds an object that Planned did not name: a selector found it.
type Awaited struct {
	Ref object.Ref
}

// Judged says how far an object is that has not met its conditions.
type Judged struct {
	Ref        object.Ref
	Conditions []Condition
	// Note is a remark: that it does not exist, that it was replaced.
	Note string
}

// Stalled says why an object that is waited for makes no progress, and again when that
// changes. The wait goes on.
type Stalled struct {
	Ref object.Ref
	// Since is when something was last seen to move in it.
	Since time.Time
	// Causes, the one that matters most first.
	Causes []Cause
}

// Waited is the result of waiting for one object.
type Waited struct {
	Ref    object.Ref
	Action Action
	// Any: one of the conditions is enough.
	Any        bool
	Conditions []Condition
	// Note is a remark, as in Judged.
	Note string
	// Err is set with Unknown, and says why the result is unknown.
	Err error
	// Causes say why the conditions were not met, as far as they were looked for.
	Causes []Cause
	// Object is the version that met the conditions, with Met and if objects are wanted.
	Object *unstructured.Unstructured
}

// Condition is one condition, and what it said of one version of an object.
type Condition struct {
	// For is the condition as it was typed.
	For string
	// Forbidden: if it is met, the wait fails.
	Forbidden bool
	Met       bool
	// Failed: it will not be met unless someone intervenes.
	Failed bool
	// Reason is for machines, Message a sentence for people; both may be empty.
	Reason, Message string
	// Values are what it read.
	Values []Value
	// Err says why it could not be evaluated.
	Err error
}

// Value is one thing that a condition read.
type Value struct {
	// Expr is the part of the condition: self.status.readyReplicas.
	Expr string
	// Value is of JSON's types.
	Value any
	// Absent: there is nothing at this path.
	Absent bool
}

func (Awaited) event() {}
func (Judged) event()  {}
func (Stalled) event() {}
func (Waited) event()  {}
