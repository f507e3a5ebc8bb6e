package event

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Fights is the result of fights: the objects that are written in circles.
type Fights struct {
	Found []Fight
	// Objects is the number of objects that were watched. For is how long they were watched.
	Objects int
	For     time.Duration
	// Namespace is the only namespace that was watched; empty for all.
	Namespace string
	// Unclear counts objects with repeated writes that were not read in full, because other objects
	// are busier.
	Unclear int
	// Unstored lists writes that changed nothing, by kind. They were too few to prove a fight over
	// one object.
	Unstored []Fight
	// Uncounted is the reason why writes that changed nothing could not be counted.
	Uncounted error
	// Unread lists what could not be watched the whole time.
	Unread []Unread
}

// FightClass is the form of a fight.
type FightClass string

const (
	// SeveralOwners means that a path goes from one owner to another and back.
	SeveralOwners FightClass = "several-owners"
	// OneWriter means that one writer changes a path back and forth.
	OneWriter FightClass = "one-writer"
	// NoChange means that writes are stored, but no value changes.
	NoChange FightClass = "no-change"
	// NotStored means that the writes change nothing. The API server does not store them, so no
	// watch shows the object or the writer.
	NotStored FightClass = "not-stored"
)

// Fight is one object that is written in circles. For [NotStored], it is a kind, or the only object
// of a kind.
type Fight struct {
	Ref    object.Ref
	UID    types.UID
	Class  FightClass
	Writes int
	Paths  []FoughtPath
	// Writers is set only for NoChange. An unknown writer is nil.
	Writers []*managedfields.Owner
	// Next lists commands, any one of which ends the fight.
	Next []string
}

// Applied reports whether one of the writers uses server-side apply.
func (f Fight) Applied() bool {
	for _, p := range f.Paths {
		for _, o := range p.Writers {
			if o != nil && o.Operation == managedfields.Apply {
				return true
			}
		}
	}
	return false
}

// FoughtPath is a path that is written in circles.
type FoughtPath struct {
	Path fieldpath.Path
	// Values holds the last value of each of the Writers, or the last two of a single writer. A nil
	// element is an absent value; Values is nil if unknown.
	Values []*any
	// Writers lists the owners that set or removed the path. An unknown one is nil.
	Writers  []*managedfields.Owner
	Recorded *Transition
}

func (Fights) event() {}
