package event

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Actions of wait. The others are Failed, Unknown, and Gone for selected objects that were deleted
// before they met their conditions.
const (
	Met Action = "met"
	// TimedOut objects did not meet their conditions in time.
	TimedOut Action = "timeout"
	// Unmet objects had not met theirs when the wait ended for another reason.
	Unmet Action = "unmet"
	// Unselected objects no longer match the labels: either they were deleted or their labels
	// changed. A watch by labels does not distinguish the two.
	Unselected Action = "unselected"
)

// Awaited adds an object that a selector matched after Planned.
type Awaited struct {
	Ref object.Ref
}

// Judged reports the progress of an object that has not met its conditions.
type Judged struct {
	Ref        object.Ref
	Conditions []Condition
	// Note is a remark: the object does not exist, or was replaced.
	Note string
}

// Stalled says why an awaited object makes no progress. It is repeated when the causes change. The
// wait continues.
type Stalled struct {
	Ref object.Ref
	// Since is when the object last made progress.
	Since time.Time
	// Causes are sorted: the most important first.
	Causes []Cause
}

// Waited is the result of waiting for one object.
type Waited struct {
	Ref    object.Ref
	Action Action
	// Any is set if one of the conditions is enough.
	Any        bool
	Conditions []Condition
	// Note is a remark, as in Judged.
	Note string
	// Err is why the result is Unknown.
	Err error
	// Causes say why the conditions were not met, as far as known.
	Causes []Cause
	// Object is the version that met the conditions. It is set with Met if objects were requested.
	Object *unstructured.Unstructured
}

// Condition is one condition, evaluated for one version of an object.
type Condition struct {
	// For is the condition as the user typed it.
	For string
	// Forbidden is set if the wait fails when the condition is met.
	Forbidden bool
	Met       bool
	// Failed is set if the condition will not be met unless someone intervenes.
	Failed bool
	// Reason is for programs, Message a sentence for people; both may be empty.
	Reason, Message string
	// Values are the values that it read.
	Values []Value
	// Err says why it could not be evaluated.
	Err error
}

// Value is a value that a condition read.
type Value struct {
	// Expr is the expression in the condition: self.status.readyReplicas.
	Expr string
	// Value is a JSON value.
	Value any
	// Absent is set if the object does not have this path.
	Absent bool
}

func (Awaited) event() {}
func (Judged) event()  {}
func (Stalled) event() {}
func (Waited) event()  {}

// Cause is a reason why an object is not ready, or not deleted.
type Cause struct {
	// Code is stable, for programs: FinalizerControllerGone.
	Code string `json:"code"`
	// Message is one sentence for people.
	Message string `json:"message"`
	// Evidence are the facts behind the cause, one a line.
	Evidence []string `json:"evidence,omitempty"`
	// Log is the end of Container's log, line by line, if it was requested.
	Log []string `json:"log,omitempty"`
	// Next is the command to run, or the decision to make; empty if only waiting helps. A command
	// has a placeholder for flags, which package command fills in.
	Next string `json:"next,omitempty"`
	// Risk is what Next may destroy; empty if nothing.
	Risk string `json:"risk,omitempty"`
	// BlockedBy is the object that has to change; zero if there is none or it is unknown.
	BlockedBy object.Ref `json:"blockedBy,omitzero"`
	// Passing is set if the cause does not prevent readiness: it concerns Pods of an older
	// revision, which are being replaced, or something behind a load balancer. The wait may end
	// while it persists.
	Passing bool `json:"-"`
	// Doubt is set if this is not a cause, but something that could not be read while searching for
	// one.
	Doubt bool `json:"-"`
	// Hearsay is set if the cause is a controller's record of its last attempt, which cannot be
	// verified and may be outdated. Age is how old the record was when it was found.
	Hearsay bool          `json:"-"`
	Age     time.Duration `json:"-"`
	// Container is the container in question; zero if there is none, or if its log would not help.
	Container Container `json:"-"`
}

// Container names a container of a Pod.
type Container struct {
	Namespace, Pod, Name string
	// Previous selects the log of the previous instance.
	Previous bool
}

// Runs lists the images that the Pods of a workload run.
type Runs struct {
	Ref object.Ref
	// Images are sorted by container, then the most common first.
	Images []Image
}

// Image is an image that a container of a workload runs.
type Image struct {
	Container string `json:"container"`
	// Image is the name in the Pod template. ID is the name on the node, with the registry's digest
	// if known.
	Image string `json:"image"`
	ID    string `json:"imageID"`
	// Pulls is set if nodes pull it whenever they start the container.
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

// Actions of delete. The others are Failed, Skipped and Unknown.
const (
	// Gone objects were deleted and no longer exist.
	Gone Action = "deleted"
	// Remains objects were accepted for deletion and still exist.
	Remains Action = "terminating"
	// Absent objects did not exist in the first place.
	Absent Action = "absent"
)

// Deleted is the result of a delete for one object.
type Deleted struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	// DryRun is set if nothing was deleted.
	DryRun bool
	// Since is when the deletion of an object that Remains was requested, by the server's clock;
	// zero if unknown.
	Since time.Time
	// Reason is a remark: another object now has the name, or why the object was Kept.
	Reason string
	// Err is set with Failed and Unknown. With Skipped, it is the reason.
	Err error
	// Overdue is set if the object Remains after the wait has timed out.
	Overdue bool
	// Causes say why an object Remains, as far as known.
	Causes []Cause
}

// Going is progress of a terminating object: it is slow, not stuck.
type Going struct {
	Ref object.Ref
	// Text is what changed: "finalizer example.com/hold is gone". If it is empty, Done of Total
	// objects in it are gone.
	Text        string
	Done, Total int
}

// Stuck says why a deletion makes no progress. It is repeated when the causes change. It is also
// the result of the verb stuck for one object.
type Stuck struct {
	Ref object.Ref
	// Since is when its deletion was requested.
	Since time.Time
	// Causes are sorted: the most important first.
	Causes []Cause
	// Err says why some causes are unknown. If Since and Causes are empty too, nothing is known
	// about the object, not even whether it is terminating.
	Err error
}

// Rooted is a cause with all objects that it blocks.
type Rooted struct {
	Cause Cause
	Holds []object.Ref
}

// Unread reports whether nothing is known about the object.
func (s Stuck) Unread() bool { return s.Err != nil && s.Since.IsZero() && len(s.Causes) == 0 }

func (Deleted) event() {}
func (Going) event()   {}
func (Stuck) event()   {}
func (Rooted) event()  {}
