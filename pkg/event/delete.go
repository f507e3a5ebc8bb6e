package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Actions of delete, beside Failed, Skipped and Unknown.
const (
	// Gone objects were deleted and are not there any more.
	Gone Action = "deleted"
	// Remains is said of objects whose deletion was accepted, and that are still
	// there.
	Remains Action = "terminating"
	// Absent objects were not there to begin with.
	Absent Action = "absent"
)

// Deleted is the result of one object of a delete.
type Deleted struct {
	Ref    object.Ref
	Source object.Source
	Action Action
	// DryRun tells that nothing was deleted.
	DryRun bool
	// Since is when the deletion of an object that Remains was asked for, as the
	// server has it; zero if it is not known.
	Since time.Time
	// Reason is a remark: that another object has the name by now.
	Reason string
	// Err is set with Failed and Unknown, and with Skipped it says why.
	Err error
	// Overdue tells that it Remains although it was waited for as long as it should
	// be.
	Overdue bool
	// Causes say why an object Remains, as far as somebody looked.
	Causes []Cause
}

// Going is a milestone on the way of an object that is terminating: something
// moved, so it is slow rather than stuck.
type Going struct {
	Ref object.Ref
	// Text is what moved: "finalizer example.com/hold is gone". It is empty where
	// Done of Total objects that it held are gone.
	Text        string
	Done, Total int
}

// Stuck says why nothing moved for a while, and again when that changes. Of the
// verb stuck it is the result of one object.
type Stuck struct {
	Ref object.Ref
	// Since is when its deletion was asked for.
	Since time.Time
	// Causes, the one that matters most first.
	Causes []Cause
	// Err is why it could not be told, or not all of it. With neither Since nor
	// Causes, nothing is known of the object, not even whether it is terminating.
	Err error
}

// Rooted is one cause that holds objects back, however many.
type Rooted struct {
	Cause Cause
	// Holds are the objects that wait for it.
	Holds []object.Ref
}

// Unread tells that nothing is known of the object but why.
func (s Stuck) Unread() bool { return s.Err != nil && s.Since.IsZero() && len(s.Causes) == 0 }

func (Deleted) event() {}
func (Going) event()   {}
func (Stuck) event()   {}
func (Rooted) event()  {}
