package event

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Handed is an object of whose fields the owners changed, and nothing else.
const Handed Action = "given"

// Given is the result of one object of a give.
type Given struct {
	Ref object.Ref
	// Action is Handed, Unchanged, Failed or Unknown.
	Action Action
	// DryRun: nothing was written.
	DryRun bool
	// Moves are what changed owners, by who had it.
	Moves []Move
	// Left are fields that were meant and stay as they are.
	Left []Withheld
	// Next is what the receiver's next apply meets; nil if its manifest is not known.
	Next *NextApply
	// Reason is a remark: why it is Unchanged.
	Reason string
	// Err is set with Failed and Unknown.
	Err error
}

// Move is fields that went from one owner to another.
type Move struct {
	Paths []fieldpath.Path
	From  managedfields.Owner
	// To is the zero Owner if they were released.
	To managedfields.Owner
	// Shared: From has them still.
	Shared bool
}

// Withheld is fields that stay with their owner.
type Withheld struct {
	Paths []fieldpath.Path
	Owner managedfields.Owner
	// Why is why, in a few words.
	Why string
	// Unstated: the receiver's manifest leaves them out, so that it wants to be without.
	Unstated bool
}

// NextApply is what the next apply of a manager meets, by the manifest that it applied
// last.
type NextApply struct {
	Manager string
	// Before and After are its conflicts with the owners of before and of now.
	Before, After []managedfields.Conflict
	// Guarded and StillGuarded are how many fields that it states others own, before and now:
	// it cannot change those without a conflict.
	Guarded, StillGuarded int
	// Overwrites are values that it replaces, now that no owner is in its way.
	Overwrites []managedfields.Change
	// Removes are fields that it owns now and does not state.
	Removes []fieldpath.Path
	// Err is why that is not known.
	Err error
}

func (Given) event() {}
