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
	// Path is what of the object was asked for; nil is all of it.
	Path fieldpath.Path
	// Fields of the object, with the values that it has, and those that somebody
	// owns although the object does not have them.
	Fields, Absent []managedfields.Node
	// Holdings are how much each owner has of the whole object, the largest first; the
	// zero Owner stands for what nobody owns.
	Holdings []Holding
	// StatusHidden: the object has a status, and it is left out of Fields.
	StatusHidden bool
	// Unmanaged: the object has no managed fields.
	Unmanaged bool
	// History is nil where nobody asked for it.
	History *History
}

// Holding is how many fields one owner has.
type Holding struct {
	Owner  managedfields.Owner
	Fields int
}

// History is which paths of an object changed owners, as far as the webhook
// recorded it.
type History struct {
	// Transitions, by when each last happened.
	Transitions []Transition
	// Dropped is how many older ones were not kept.
	Dropped int
	// Lost is how many are missing because the webhook could not write them.
	Lost int
	// Err is why the history is not known.
	Err error
	// Coverage is the time that the record covers.
	Coverage Coverage
}

// Coverage is when the webhook watched.
type Coverage struct {
	// Since when objects of this kind and namespace are watched; zero where that is not
	// known or they are not, and Unknown says why.
	Since   time.Time
	Unknown string
	// Until is when the webhook last noted down how far it has come, which it does
	// every minute; zero where it has not.
	Until time.Time
	// Stale is set where that is so long ago that the webhook does not seem to run.
	Stale bool
	// Gaps are the times since of which not every change is known.
	Gaps []Gap
	// Behind is how many changes of owners it had seen at Until and not recorded yet,
	// in the whole cluster, and BehindSince since when the oldest of them waited.
	Behind      int
	BehindSince time.Time
}

// From returns what is covered of the time since a moment.
func (c Coverage) From(since time.Time) Coverage {
	if !since.After(c.Since) {
		return c
	}
	c.Since = since
	c.Gaps = slices.DeleteFunc(slices.Clone(c.Gaps), func(g Gap) bool { return !g.To.After(since) })
	return c
}

// Gap is a time of which not every change is known: nobody watched, or there was more
// than could be recorded.
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
	// Forced is set if it was by force when it last happened, Gap if nobody watched
	// one of the times.
	Forced, Gap bool
	// User who sent the request; empty where that is not known.
	User string
	// Count is how often it happened, the First time and the Last.
	Count       int
	First, Last time.Time
}

func (Owned) event() {}
