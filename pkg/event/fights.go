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
	// Found is sorted, the most writes first.
	Found []Fight
	// Objects is how many were watched, and For how long.
	Objects int
	For     time.Duration
	// Namespace is the only one watched; empty for all.
	Namespace string
	// Unclear counts objects with repeated writes that their metadata do not explain, and that were
	// not read because others are busier.
	Unclear int
	// Unstored lists writes that changed nothing, by kind, too few to prove that one object got
	// several.
	Unstored []Fight
	// Uncounted is why such writes could not be counted; nil if they were, or did not need to be.
	Uncounted error
	// Unread is what could not be watched the whole time.
	Unread []Unread
}

// FightClass is the form of a fight.
type FightClass string

const (
	// SeveralOwners: a path goes from one owner to another and back.
	SeveralOwners FightClass = "several-owners"
	// OneWriter: one writer changes a path back and forth.
	OneWriter FightClass = "one-writer"
	// NoChange: writes are stored, but no value changes.
	NoChange FightClass = "no-change"
	// NotStored: the writes change nothing, so the API server does not store them, and no watch shows
	// the object or the writer.
	NotStored FightClass = "not-stored"
)

// Fight is one object that is written in circles. For [NotStored] it is a kind, or its only object.
type Fight struct {
	Ref   object.Ref
	UID   types.UID
	Class FightClass
	// Writes counts those in the time of the watch.
	Writes int
	Paths  []FoughtPath
	// Writers is set for NoChange; an unknown one is nil.
	Writers []*managedfields.Owner
	// Next lists commands, any one of which ends the fight.
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

// FoughtPath is a path that is written in circles.
type FoughtPath struct {
	Path fieldpath.Path
	// Values are the last value of each of the Writers, in their order, or the last two of a single
	// writer; nil if unknown. An absent value is nil.
	Values []*any
	// Writers set or removed the path; an unknown one is nil.
	Writers []*managedfields.Owner
	// Recorded is the webhook's record of the path; nil if there is none.
	Recorded *Transition
}

func (Fights) event() {}
