package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

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
