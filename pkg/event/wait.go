package event

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Actions of wait, besides Failed, Unknown, and Gone: a selected object was deleted before it met
// its conditions.
const (
	Met Action = "met"
	// TimedOut objects did not meet their conditions in time.
	TimedOut Action = "timeout"
	// Unmet objects had not met theirs when the wait ended for another reason.
	Unmet Action = "unmet"
	// Unselected objects no longer match the labels: they were deleted, or their labels changed. A
	// watch by labels does not distinguish the two.
	Unselected Action = "unselected"
)

// Awaited adds an object that a selector found after Planned.
type Awaited struct {
	Ref object.Ref
}

// Judged reports the progress of an object that has not met its conditions.
type Judged struct {
	Ref        object.Ref
	Conditions []Condition
	// Note is a remark: it does not exist, or was replaced.
	Note string
}

// Stalled says why an awaited object makes no progress, and again when that changes. The wait goes
// on.
type Stalled struct {
	Ref object.Ref
	// Since is when something last moved in it.
	Since time.Time
	// Causes are sorted, the most important first.
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
	// Err is why the result is Unknown.
	Err error
	// Causes say why the conditions were not met, as far as they are known.
	Causes []Cause
	// Object is the version that met the conditions, with Met and if objects are wanted.
	Object *unstructured.Unstructured
}

// Condition is one condition with its result for one version of an object.
type Condition struct {
	// For is the condition as it was typed.
	For string
	// Forbidden: the wait fails if it is met.
	Forbidden bool
	Met       bool
	// Failed: it will not be met unless someone intervenes.
	Failed bool
	// Reason is for machines, Message a sentence for people; both may be empty.
	Reason, Message string
	// Values are what it read.
	Values []Value
	// Err is why it could not be evaluated.
	Err error
}

// Value is a value that a condition read.
type Value struct {
	// Expr is the part of the condition: self.status.readyReplicas.
	Expr string
	// Value is a JSON value.
	Value any
	// Absent: there is nothing at this path.
	Absent bool
}

func (Awaited) event() {}
func (Judged) event()  {}
func (Stalled) event() {}
func (Waited) event()  {}

// Cause is a reason why an object does not reach the awaited state: it is not ready, or not
// deleted.
type Cause struct {
	// Code is stable, for machines: FinalizerControllerGone.
	Code string `json:"code"`
	// Message is one sentence for people.
	Message string `json:"message"`
	// Evidence are the facts behind the cause, one a line.
	Evidence []string `json:"evidence,omitempty"`
	// Log is the end of Container's log, line by line, if it was asked for.
	Log []string `json:"log,omitempty"`
	// Next is the command to run, or the decision to make; empty if only waiting helps. A command
	// has a slot for flags, which package command fills.
	Next string `json:"next,omitempty"`
	// Risk is what Next may lose; empty if nothing.
	Risk string `json:"risk,omitempty"`
	// BlockedBy is the object that has to change; zero if there is none, or it is unknown.
	BlockedBy object.Ref `json:"blockedBy,omitzero"`
	// Passing: the cause does not keep the object from being ready. It is about Pods of an older
	// revision, which are replaced, or about what is behind a load balancer. The wait may end
	// although it stays.
	Passing bool `json:"-"`
	// Doubt: this is no cause, but something that could not be read in the search for one.
	Doubt bool `json:"-"`
	// Hearsay: the cause is a controller's record of its last attempt, which cannot be checked and
	// may be outdated. Age is how old it was when the cause was found.
	Hearsay bool          `json:"-"`
	Age     time.Duration `json:"-"`
	// Container is the container in question; zero if there is none, or its log would not help.
	Container Container `json:"-"`
}

// Container is a container of a Pod whose log is wanted.
type Container struct {
	Namespace, Pod, Name string
	// Previous: the previous instance.
	Previous bool
}

// Runs says which images the Pods of a workload run.
type Runs struct {
	Ref object.Ref
	// Images are listed by container, the commonest first.
	Images []Image
}

// Image is one image that a container of a workload runs.
type Image struct {
	Container string `json:"container"`
	// Image is the name in the template, and ID the name on the node, with the registry's digest if
	// it is known.
	Image string `json:"image"`
	ID    string `json:"imageID"`
	// Pulls reports whether nodes pull it each time they start the container.
	Pulls bool         `json:"-"`
	Pods  []RunningPod `json:"pods"`
}

// RunningPod is a Pod that runs an image.
type RunningPod struct {
	Name  string    `json:"name"`
	Node  string    `json:"node,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

func (Runs) event() {}

// Actions of delete, besides Failed, Skipped and Unknown.
const (
	// Gone objects were deleted and no longer exist.
	Gone Action = "deleted"
	// Remains: the deletion of the object was accepted, and it still exists.
	Remains Action = "terminating"
	// Absent objects did not exist to begin with.
	Absent Action = "absent"
)

// Deleted is the result of one object of a delete.
type Deleted struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	// DryRun: nothing was deleted.
	DryRun bool
	// Since is when the deletion of an object that Remains was requested, by the server's clock;
	// zero if unknown.
	Since time.Time
	// Reason is a remark: another object has the name now, or why it is Kept.
	Reason string
	// Err is set with Failed and Unknown; with Skipped it says why.
	Err error
	// Overdue: it Remains although the wait has timed out.
	Overdue bool
	// Causes say why an object Remains, as far as they are known.
	Causes []Cause
}

// Going is progress of a terminating object: something moved, so it is slow and not stuck.
type Going struct {
	Ref object.Ref
	// Text is what moved: "finalizer example.com/hold is gone". It is empty if Done of the Total
	// objects in it are gone.
	Text        string
	Done, Total int
}

// Stuck says why nothing has moved for a while, and again when that changes. It is also the result
// of the verb stuck for one object.
type Stuck struct {
	Ref object.Ref
	// Since is when its deletion was requested.
	Since time.Time
	// Causes are sorted, the most important first.
	Causes []Cause
	// Err is why some causes are unknown. Without Since and Causes, nothing is known of the object,
	// not even whether it is terminating.
	Err error
}

// Rooted is a cause that blocks any number of objects.
type Rooted struct {
	Cause Cause
	// Holds are the blocked objects.
	Holds []object.Ref
}

// Unread reports whether nothing is known of the object.
func (s Stuck) Unread() bool { return s.Err != nil && s.Since.IsZero() && len(s.Causes) == 0 }

func (Deleted) event() {}
func (Going) event()   {}
func (Stuck) event()   {}
func (Rooted) event()  {}
