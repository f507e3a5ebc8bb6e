package event

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

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

// Surveyed is who owns what of many objects, counted: the result of owners where no object
// is named.
//
// A field counts as shared if another manager holds it, or something below it. All others
// are the manager's alone: if it let go of them, nothing would own them.
type Surveyed struct {
	// Where says which objects were meant, as a part of a sentence.
	Where string
	// Objects is how many were looked at, Unmanaged how many of them have no managed fields.
	Objects, Unmanaged int
	// Managers has one row for each manager, Holdings one for each owner and kind.
	Managers []ManagerHolding
	Holdings []KindHolding
	// Unexpected is what was not expected, object by object: fields outside the status.
	// Expecting: it was said who is expected.
	Unexpected []ObjectHolding
	Expecting  bool
	// Leaving is what the managers hold that were asked about, object by object.
	Leaving []ObjectHolding
	// From are these managers.
	From []string
	// Unserved is what is held at API versions that the server does not serve.
	Unserved []VersionHolding
	// Seen are all managers that own anything, asked about or not.
	Seen []string
	// Unread is what could not be looked at.
	Unread []Unread
}

// Fields counts paths of managed fields.
type Fields struct {
	// All includes Shared, and what is left is the manager's alone.
	All, Shared int
}

// Sole is how many of the fields have no other owner.
func (f Fields) Sole() int { return f.All - f.Shared }

// Plus adds up two counts.
func (f Fields) Plus(other Fields) Fields {
	return Fields{All: f.All + other.All, Shared: f.Shared + other.Shared}
}

// ManagerHolding is what one manager holds, in whatever way.
type ManagerHolding struct {
	Manager string
	// Kinds and Objects are how many of them it holds fields of.
	Kinds, Objects int
	Fields         Fields
	// Expected is set if it was, or if it was not said who is.
	Expected bool
}

// KindHolding is what one owner holds in objects of one kind. The owner has neither a time
// nor an API version.
type KindHolding struct {
	Owner   managedfields.Owner
	Kind    schema.GroupKind
	Objects int
	Fields  Fields
}

// FieldName is the text of a path.
type FieldName string

// ObjectHolding is what one manager holds of one object.
type ObjectHolding struct {
	Ref     object.Ref
	Manager string
	Fields  Fields
	// Paths are those that have no other owner, where it was asked what the manager's leaving
	// would mean; and all of them, where it was not expected.
	Paths []FieldName
}

// VersionHolding is what one owner holds at one API version in objects of one kind.
type VersionHolding struct {
	Owner   managedfields.Owner
	Kind    schema.GroupKind
	Objects int
}

// Unread is a kind that could not be listed, or an object that could not be read.
type Unread struct {
	Ref object.Ref
	Err error
}

func (Surveyed) event() {}

// Migrated is what became of the owners of one object whose fields are of versions that the
// server does not serve.
type Migrated struct {
	Ref object.Ref
	// To is the version at which the rewritten ones are now, or would be.
	To string
	// Rewritten owners are named as they were. Left are those that cannot be rewritten.
	Rewritten []managedfields.Owner
	Left      []LeftOwner
	// Err is why nothing is known of it, or nothing was written.
	Err error
}

// LeftOwner is an owner that stays at its version.
type LeftOwner struct {
	Owner managedfields.Owner
	// Unknown are the paths that the served version does not have; empty if its schema is
	// not known.
	Unknown []FieldName
}

// MigrationEnded says that all was looked at that could be: what is not in a Migrated has no
// such owner, but for what is unread.
type MigrationEnded struct {
	Unread []Unread
}

func (Migrated) event()       {}
func (MigrationEnded) event() {}

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
