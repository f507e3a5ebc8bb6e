package event

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Met, TimedOut, Unmet and Unselected are results of a wait. A wait also uses Failed, Unknown, and
// Gone, which is for selected objects that were deleted before they met their conditions.
const (
	Met Action = "met"
	// TimedOut means that the object did not meet its conditions before the timeout.
	TimedOut Action = "timeout"
	// Unmet means that the object had not met its conditions when the wait ended for a reason other
	// than a timeout.
	Unmet Action = "unmet"
	// Unselected means that the object was deleted or relabeled. A watch with a label selector
	// cannot tell the two apart.
	Unselected Action = "unselected"
)

// Awaited adds an object that a selector matched only after the [Planned] event.
type Awaited struct {
	Ref object.Ref
}

// Judged reports the progress of an object that has not yet met its conditions.
type Judged struct {
	Ref        object.Ref
	Conditions []Condition
	Note       string
}

// Stalled explains why an awaited object makes no progress. It is emitted again when the causes
// change. The wait continues.
type Stalled struct {
	Ref    object.Ref
	Since  time.Time
	Causes []Cause
}

// Waited is the result of waiting for one object.
type Waited struct {
	Ref        object.Ref
	Action     Action
	Any        bool
	Conditions []Condition
	Note       string
	Err        error
	Causes     []Cause
	Object     *unstructured.Unstructured
}

// Condition is the state of one condition at one version of an object.
type Condition struct {
	For string
	// Forbidden means that the wait fails when the condition is met.
	Forbidden bool
	Met       bool
	// Failed means that the condition will not be met without intervention.
	Failed bool
	// Reason is for programs, and Message is for people. Either may be empty.
	Reason, Message string
	Values          []Value
	Err             error
}

// Value is a value read by a condition.
type Value struct {
	Expr   string
	Value  any
	Absent bool
}

func (Awaited) event() {}
func (Judged) event()  {}
func (Stalled) event() {}
func (Waited) event()  {}

// Cause is a reason why an object is not ready, or not deleted. Package command fills the connection
// flags into Next.
type Cause struct {
	// Code is a stable identifier, such as FinalizerControllerGone; see docs/stuck.md and docs/unready.md.
	Code string `json:"code"`
	// Message is the cause in one sentence, for people.
	Message string `json:"message"`
	// Evidence lists the facts behind the cause, for people.
	Evidence []string `json:"evidence,omitempty"`
	// Log holds the last lines of the container's log, if --logs requested them.
	Log []string `json:"log,omitempty"`
	// Next is the command to run, or the decision to make; empty if only waiting helps.
	Next string `json:"next,omitempty"`
	// Risk is a possible cost of Next.
	Risk string `json:"risk,omitempty"`
	// BlockedBy is the object that must change.
	BlockedBy object.Ref `json:"blockedBy,omitzero"`
	// Passing means that the cause does not prevent readiness. For example, it concerns Pods that
	// are being replaced, or Pods behind a load balancer: a load balancer gets its address
	// regardless of its Pods.
	Passing bool `json:"-"`
	// Follows means that the cause disappears once the object's other causes are fixed.
	Follows bool `json:"-"`
	// Doubt means that this is not a cause but something that could not be read.
	Doubt bool `json:"-"`
	// Hearsay means that a controller recorded the cause during its last attempt, so it may be
	// outdated. Age is the age of that record.
	Hearsay   bool          `json:"-"`
	Age       time.Duration `json:"-"`
	Container Container     `json:"-"`
}

// Shared returns the message without the Pods at its beginning, as in "2 Pods: fits none of 3 nodes".
// A refusal of Pods does not name their workload. Objects that wait for the same reason share the rest.
func (c Cause) Shared() string {
	if refused, ok := strings.CutPrefix(c.Message, "Pods of "); ok {
		for _, verb := range []string{" are refused", " were refused"} {
			if who, rest, found := strings.Cut(refused, verb); found && !strings.Contains(who, ": ") {
				return "Pods" + verb + rest
			}
		}
	}
	who, rest, found := strings.Cut(c.Message, ": ")
	count, pods := strings.CutSuffix(strings.TrimSuffix(who, "s"), " Pod")
	if found && (pods && strings.Trim(count, "0123456789") == "" || strings.HasPrefix(who, "pod/")) {
		return rest
	}
	return c.Message
}

// Container names a container of a Pod.
type Container struct {
	Namespace, Pod, Name string
	Previous             bool
}

// Runs lists the images that the Pods of a workload run.
type Runs struct {
	Ref    object.Ref
	Images []Image
}

// Image is an image that a container of a workload runs.
type Image struct {
	// Container is the name of the container.
	Container string `json:"container"`
	// Image is the name in the Pod template.
	Image string `json:"image"`
	// ID is the name that the nodes report, with the registry's digest if known.
	ID string `json:"imageID"`
	// Pulls means that nodes pull the image each time the container starts.
	Pulls bool `json:"-"`
	// Pods lists the Pods that run the image.
	Pods []RunningPod `json:"pods"`
}

// RunningPod is a Pod that runs an image.
type RunningPod struct {
	// Name is the name of the Pod.
	Name string `json:"name"`
	// Node is the name of the node of the Pod.
	Node string `json:"node,omitempty"`
	// Since is the time at which the container started.
	Since time.Time `json:"since,omitzero"`
}

func (Runs) event() {}

// Gone, Remains and Absent are the results of a delete. A delete also uses Failed, Skipped and
// Unknown.
const (
	// Gone means that the object was deleted and no longer exists.
	Gone Action = "deleted"
	// Remains means that the object was accepted for deletion but still exists.
	Remains Action = "terminating"
	// Absent means that the object did not exist in the first place.
	Absent Action = "absent"
)

// Deleted is the result of deleting one object.
type Deleted struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	DryRun bool
	// Since is the deletion timestamp, by the server's clock, if Action is Remains; zero for other
	// actions, or if unknown.
	Since time.Time
	// Reason is a remark. For example, it mentions that another object now has the name, or
	// explains why the object was kept.
	Reason  string
	Err     error
	Overdue bool
	Causes  []Cause
}

// Terminating reports the progress of a terminating object that is slow but not stuck.
type Terminating struct {
	Ref object.Ref
	// Text describes the progress. If Text is empty, Done of Total objects are gone.
	Text        string
	Done, Total int
}

// Stuck explains why a deletion makes no progress. It is emitted again when the causes change. The
// stuck command also emits one for each object.
type Stuck struct {
	Ref    object.Ref
	Since  time.Time
	Causes []Cause
	Err    error
}

// Rooted is a cause with all the objects that it blocks.
type Rooted struct {
	Cause Cause
	Holds []object.Ref
}

// Unread reports whether nothing is known about the object.
func (s Stuck) Unread() bool { return s.Err != nil && s.Since.IsZero() && len(s.Causes) == 0 }

func (Deleted) event()     {}
func (Terminating) event() {}
func (Stuck) event()       {}
func (Rooted) event()      {}
