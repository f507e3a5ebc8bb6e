package event

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/object"

// Unready lists the objects that are not ready. It is the result of the verb unready.
type Unready struct {
	Found []UnreadyObject
	// Roots contains each cause with the objects in Found that it holds back. Several causes may hold
	// back an object.
	Roots   []Rooted
	Remarks []Remarked
	// Objects and Kinds count what was read. Terminating counts the objects that are being deleted,
	// which are not in Found.
	Objects, Kinds, Terminating int
	// Stuck is the command that explains why objects are still being deleted.
	Stuck     string
	Namespace string
	Unread    []Unread
}

// Unclear is the code of a remark on an object that does not show whether it is ready.
const Unclear = "Unclear"

// Unclear counts the objects that do not show whether they are ready. Each has a remark.
func (u Unready) Unclear() int {
	n := 0
	for _, r := range u.Remarks {
		if r.Code == Unclear {
			n++
		}
	}
	return n
}

// UnreadyObject is an object that is not ready. An object whose controller is not ready either is
// represented by the controller.
type UnreadyObject struct {
	Ref object.Ref
	// Failed means that the object will not become ready without intervention.
	Failed bool
	// Reason is for programs, and Message is for people.
	Reason, Message string
	Causes          []Cause
}

// RootKey identifies a cause that objects may share.
type RootKey struct {
	code, message string
	blockedBy     object.Key
}

// Root returns the key of an object's cause. Causes with the same code that are blocked by the same
// object are the same. Without such an object, their messages decide.
func (c Cause) Root(of object.Ref) RootKey {
	k := RootKey{code: c.Code, blockedBy: c.BlockedBy.Key()}
	if c.BlockedBy == (object.Ref{}) || c.BlockedBy.Key() == of.Key() {
		k.message = c.Shared()
	}
	return k
}

func (Unready) event() {}
