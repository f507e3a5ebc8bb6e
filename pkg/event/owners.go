package event

import (
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Owned is one object with the owners of its fields: the result of owners.
type Owned struct {
	Ref object.Ref
	// Path is the part of the object that was asked for; nil is all of it.
	Path fieldpath.Path
	// Fields of the object, with their values, and fields that have an owner although
	// the object does not have them.
	Fields, Absent []managedfields.Node
	// Holdings are how much of the whole object each owner has, the largest first; the
	// zero Owner stands for fields without an owner.
	Holdings []Holding
	// StatusHidden: the object has a status that is left out of Fields.
	StatusHidden bool
	// Unmanaged: the object has no managed fields.
	Unmanaged bool
	// History is nil if it was not asked for.
	History *History
}

// Holding is how many fields one owner has.
type Holding struct {
	Owner  managedfields.Owner
	Fields int
}

// History is the paths of an object that changed owners, as far as the webhook recorded
// it.
type History struct {
	// Transitions, by when each last happened.
	Transitions []Transition
	// Dropped is how many older ones were not kept.
	Dropped int
	// Lost is how many are missing because the webhook could not write them.
	Lost int
	// Err is why the history is unknown.
	Err error
	// Coverage is the period that the record covers.
	Coverage Coverage
}

// Coverage is when the webhook watched.
type Coverage struct {
	// Since when objects of this kind and namespace are watched; zero if that is
	// unknown or they are not, and Unknown says why.
	Since   time.Time
	Unknown string
	// Until is when the webhook last wrote down its progress, which it does every
	// minute; zero if it never did.
	Until time.Time
	// Stale is set if that is so long ago that the webhook does not seem to run.
	Stale bool
	// Gaps are the periods since then in which changes may be missing.
	Gaps []Gap
	// Behind is how many changes of owners the webhook had seen but not recorded at
	// Until, in the whole cluster, and BehindSince is since when the oldest of them
	// waited.
	Behind      int
	BehindSince time.Time
}

// From returns the coverage of the period since a moment.
func (c Coverage) From(since time.Time) Coverage {
	if !since.After(c.Since) {
		return c
	}
	c.Since = since
	return c.For(since)
}

// For returns the coverage of an object that was created at a time: a gap that ended before
// is none of its history.
func (c Coverage) For(created time.Time) Coverage {
	c.Gaps = slices.DeleteFunc(slices.Clone(c.Gaps), func(g Gap) bool { return !g.To.After(created) })
	return c
}

// Gap is a period in which changes may be missing: nothing was watching, or there was
// more than could be recorded.
type Gap struct{ From, To time.Time }

// Transition is one path changing owners, or going back and forth between the
// same ones.
type Transition struct {
	// Path is its text, which may be cut.
	Path string
	// Kind is how it last happened: taken, released or lost.
	Kind     string
	From, To []managedfields.Owner
	// Cut is set if there were more owners than From and To have.
	Cut bool
	// Forced is set if force was used when it last happened, Gap if one of the times
	// was not watched.
	Forced, Gap bool
	// User who sent the request; empty if unknown.
	User string
	// Count is how often it happened, the First time and the Last.
	Count       int
	First, Last time.Time
}

func (Owned) event() {}
