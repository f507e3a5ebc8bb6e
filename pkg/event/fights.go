package event

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Fights lists the objects whose writes go around in circles. It is the result of the verb fights.
type Fights struct {
	Found     []Fight
	Objects   int
	For       time.Duration
	Namespace string
	// Unclear counts the objects that are written repeatedly but that we did not read in full,
	// because other objects are written more often or a read failed.
	Unclear int
	// Unstored lists, by kind, writes that changed nothing and are too few to prove a fight over
	// one object.
	Unstored  []Fight
	Uncounted error
	Unread    []Unread
}

// FightClass is the form of a fight.
type FightClass string

const (
	// SeveralOwners means that a path passes from one owner to another and back.
	SeveralOwners FightClass = "several-owners"
	// OneWriter means that one writer changes a path back and forth.
	OneWriter FightClass = "one-writer"
	// NoChange means that writes are stored, but no value changes.
	NoChange FightClass = "no-change"
	// NotStored means that writes change nothing. The API server does not store them, so no watch
	// shows the object or the writer.
	NotStored FightClass = "not-stored"
)

// Fight describes one object whose writes go around in circles. If Class is [NotStored], it
// describes a kind, or the only object of a kind.
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

// FoughtPath is a path whose value or owner changes back and forth.
type FoughtPath struct {
	Path fieldpath.Path
	// Values holds each writer's last value, or the last two values of a single writer. A nil
	// element is an absent value; a nil slice means that the values are unknown.
	Values []*any
	// Writers lists the owners that set or removed the path. An unknown writer is nil.
	Writers  []*managedfields.Owner
	Recorded *Transition
	// Turns are the latest changes of the path, the oldest first. Their times are those at which the
	// watch showed them, and their values are set if they are known and not secret.
	Turns []Transition
}

func (Fights) event() {}
