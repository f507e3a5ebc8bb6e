package event

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Fights is what is written in circles: the result of fights.
type Fights struct {
	// Found are sorted: those with the most writes come first.
	Found []Fight
	// Objects were watched, for For.
	Objects int
	For     time.Duration
	// Namespace is the only one that was watched; empty for all.
	Namespace string
	// Unclear counts objects that are written again and again in a way that their metadata do not
	// explain, and that were not read because others are busier.
	Unclear int
	// Unstored are writes that changed nothing, by kind: too few to be sure that one object got
	// several of them.
	Unstored []Fight
	// Uncounted is why such writes could not be counted; nil if they were, or need not be.
	Uncounted error
	// Unread is what could not be watched, or not all the time.
	Unread []Unread
}

// FightClass says how an object is fought over.
type FightClass string

const (
	// TwoOwners: a path goes from one owner to another and back.
	TwoOwners FightClass = "two-owners"
	// OneWriter: one writer sets a path to and fro.
	OneWriter FightClass = "one-writer"
	// NoChange: writes are stored, and no value changes.
	NoChange FightClass = "no-change"
	// NotStored: writes change nothing, so that the API server stores none of them, and no watch
	// shows the object or the writer.
	NotStored FightClass = "not-stored"
)

// Fight is one object that is written in circles, or one kind for [NotStored].
type Fight struct {
	Ref   object.Ref
	Class FightClass
	// Writes were seen in the time that the object was watched.
	Writes int
	Paths  []FoughtPath
	// Writers of NoChange; an unknown one is nil.
	Writers []*managedfields.Owner
	// Next are commands, of which one ends the fight.
	Next []string
}

// Applied reports whether one of the writers applies.
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

// FoughtPath is one path that goes to and fro.
type FoughtPath struct {
	Path fieldpath.Path
	// Values are those that the Writers wrote last, in their order, or the last two of one writer;
	// none if they are not known. An absent one is nil.
	Values []*any
	// Writers are those who set or removed it; an unknown one is nil.
	Writers []*managedfields.Owner
}

func (Fights) event() {}
