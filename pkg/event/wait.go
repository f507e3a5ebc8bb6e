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

// Cause is one reason why an object does not reach the awaited state: it does not
// get ready, or does not go away.
type Cause struct {
	// Code is stable, and for machines: FinalizerControllerGone.
	Code string
	// Message is one sentence for people.
	Message string
	// Evidence is what the cause is concluded from, one piece a line.
	Evidence []string
	// Next is the command to run, or the decision to make; empty if there is
	// nothing to do but wait. A command has a slot for flags: package command fills
	// it.
	Next string
	// Risk is what running Next may lose; empty if nothing.
	Risk string
	// BlockedBy is the object that has to change; zero if there is none, or it is
	// unknown.
	BlockedBy object.Ref
	// Passing tells that it does not keep the object from getting ready: it is about Pods of
	// an older revision, which are replaced, or about what is behind a load balancer. The
	// wait may well end although it stays.
	Passing bool
	// Doubt tells that it is no cause that was found, but says what could not be read while
	// looking for one.
	Doubt bool
	// Hearsay tells that the cause rests on what a controller wrote down when it tried last,
	// which cannot be checked and may be over. Age is how long ago that was when the cause
	// was concluded.
	Hearsay bool
	Age     time.Duration
	// Container is the one that it is about; zero where it is about none, or where what
	// that wrote tells nothing.
	Container Container
	// Log is the end of what Container wrote, line by line, where it was asked for.
	Log []string
}

// Container is one container of a Pod, as logs are asked for.
type Container struct {
	Namespace, Pod, Name string
	// Previous means the instance before the one that is there now.
	Previous bool
}

// Runs says which images the Pods of a workload run.
type Runs struct {
	Ref object.Ref
	// Images by container, what most Pods run first.
	Images []Image
}

// Image is one image that a container of a workload runs.
type Image struct {
	Container string `json:"container"`
	// Image is what the template calls it, and ID what its node calls it, with the
	// registry's digest where that is known.
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
	// Since is when deletion was requested of an object that Remains, by the
	// server's clock; zero if unknown.
	Since time.Time
	// Reason is a remark: that another object has the name by now, or why it is Kept.
	Reason string
	// Err is set with Failed and Unknown; with Skipped it says why.
	Err error
	// Overdue: it Remains although the wait for it has timed out.
	Overdue bool
	// Causes say why an object Remains, as far as they were looked for.
	Causes []Cause
}

// Going is progress of an object that is terminating: something moved, so it is
// slow rather than stuck.
type Going struct {
	Ref object.Ref
	// Text is what moved: "finalizer example.com/hold is gone". It is empty if Done
	// of the Total objects that it held are gone.
	Text        string
	Done, Total int
}

// Stuck says why nothing has moved for a while, and again when that changes. For
// the verb stuck it is the result of one object.
type Stuck struct {
	Ref object.Ref
	// Since is when its deletion was requested.
	Since time.Time
	// Causes, the most important first.
	Causes []Cause
	// Err is why the causes, or some of them, are unknown. With neither Since nor
	// Causes, nothing is known of the object, not even whether it is terminating.
	Err error
}

// Rooted is one cause that holds back any number of objects.
type Rooted struct {
	Cause Cause
	// Holds are the objects that wait for it.
	Holds []object.Ref
}

// Unread reports whether nothing is known of the object but why.
func (s Stuck) Unread() bool { return s.Err != nil && s.Since.IsZero() && len(s.Causes) == 0 }

func (Deleted) event() {}
func (Going) event()   {}
func (Stuck) event()   {}
func (Rooted) event()  {}
