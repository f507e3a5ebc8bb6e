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
	// Path is the selected part of the object; nil means all of it.
	Path fieldpath.Path
	// Fields are the object's fields with their values, Absent are fields with an owner that the
	// object lacks.
	Fields, Absent []managedfields.Node
	// Holdings are how much of the whole object each owner has, the largest first; the zero Owner
	// means fields without an owner.
	Holdings []Holding
	// StatusHidden: Fields leaves out the status.
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

// History lists the paths of an object that changed owners, as recorded by the webhook.
type History struct {
	// Transitions are sorted by when each last happened. None is older than From, if that is set.
	Transitions []Transition
	From        time.Time
	// Dropped is how many older ones were not kept.
	Dropped int
	// Lost is how many the webhook could not write.
	Lost int
	// Err is why the history is unknown.
	Err error
	// Coverage is the period that the record covers.
	Coverage Coverage
}

// Coverage is the time in which the webhook watched, in UTC.
type Coverage struct {
	// Since is when the watch of this kind and namespace began; zero if there is none or that is
	// unknown, and Unknown says why.
	Since time.Time `json:"since,omitzero"`
	// Until is when the webhook last recorded its progress, as it does every minute; zero if it
	// never did.
	Until time.Time `json:"until,omitzero"`
	// Gaps are later periods in which changes may be missing.
	Gaps []Gap `json:"gaps,omitempty"`
	// Behind is nil if the webhook had recorded everything at Until.
	Behind  *Behind `json:"behind,omitempty"`
	Unknown string  `json:"unknown,omitempty"`
	// Stale: Until is so long ago that the webhook does not seem to be running.
	Stale bool `json:"-"`
}

// Behind counts changes in the whole cluster that the webhook had seen and not yet recorded. It saw
// the oldest of them at Since.
type Behind struct {
	Changes int       `json:"changes"`
	Since   time.Time `json:"since"`
}

// From returns the coverage of the period since a moment.
func (c Coverage) From(since time.Time) Coverage {
	if !since.After(c.Since) {
		return c
	}
	c.Since = since
	return c.For(since)
}

// For returns the coverage of an object that was created at a time, without earlier gaps.
func (c Coverage) For(created time.Time) Coverage {
	c.Gaps = slices.DeleteFunc(slices.Clone(c.Gaps), func(g Gap) bool { return !g.To.After(created) })
	return c
}

// Gap is a period in which changes may be missing: the webhook did not run, or could not record
// all.
type Gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Transition is a path that changed owners, perhaps back and forth between the same ones. Its times
// are in UTC, and its lists are not nil.
type Transition struct {
	// Path is possibly truncated.
	Path string `json:"path"`
	// Kind is how it last happened: taken, released or lost.
	Kind string                `json:"change"`
	From []managedfields.Owner `json:"from"`
	To   []managedfields.Owner `json:"to"`
	// Cut: there were more owners than From and To list.
	Cut bool `json:"cut,omitempty"`
	// Forced: it last happened by force. Gap: the webhook did not watch one of the times.
	Forced bool `json:"forced,omitempty"`
	Gap    bool `json:"gap,omitempty"`
	// User sent the request; empty if unknown.
	User string `json:"user,omitempty"`
	// FromValue and ToValue are the values when it last happened; empty if they are not recorded.
	FromValue string `json:"fromValue,omitempty"`
	ToValue   string `json:"toValue,omitempty"`
	// Count is how often it happened.
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

func (Owned) event() {}

// PastChanges are the recorded changes of owners in many objects: the result of owners --history if
// no object is named.
type PastChanges struct {
	// Where describes the selection, as a part of a sentence.
	Where string
	// From is where the period begins that was asked for; zero for all time.
	From time.Time
	// Changes begin with the newest.
	Changes  []ObjectTransition
	Coverage Coverage
	// Limits says which of the objects are not watched, or not for all of the period.
	Limits []string
	// Dropped is how many older ones of the period may not have been kept, Lost how many the webhook
	// could not write.
	Dropped, Lost int
}

// ObjectTransition is a transition of one of many objects.
type ObjectTransition struct {
	Ref object.Ref
	Transition
}

func (PastChanges) event() {}

// Surveyed counts who owns what in many objects: the result of owners if no object is named.
//
// A field is shared if another manager holds it or something below it. All others are the manager's
// alone: if it released them, they would have no owner.
type Surveyed struct {
	// Where describes the selection, as a part of a sentence.
	Where string
	// Objects is how many were read, Unmanaged how many of them have no managed fields.
	Objects, Unmanaged int
	// Managers has one row for each manager, Holdings one for each owner and kind.
	Managers []ManagerHolding
	Holdings []KindHolding
	// Unexpected are, by object, the fields outside the status of managers that --expect does not
	// name. Expecting: --expect was given.
	Unexpected []ObjectHolding
	Expecting  bool
	// Leaving is what the managers in From hold, by object.
	Leaving []ObjectHolding
	// From are the managers in question.
	From []string
	// Unserved is what is held at API versions that the server does not serve.
	Unserved []VersionHolding
	// Seen are all managers that own anything.
	Seen []string
	// Unread is what could not be read.
	Unread []Unread
}

// Fields counts paths of managed fields.
type Fields struct {
	// All includes Shared; the rest is the manager's alone.
	All, Shared int
}

// Sole returns how many of the fields have no other owner.
func (f Fields) Sole() int { return f.All - f.Shared }

// Plus returns the sum of two counts.
func (f Fields) Plus(other Fields) Fields {
	return Fields{All: f.All + other.All, Shared: f.Shared + other.Shared}
}

// ManagerHolding is what one manager holds, by any operation.
type ManagerHolding struct {
	Manager string
	// Kinds and Objects count those of which it holds fields.
	Kinds, Objects int
	Fields         Fields
	// Expected: --expect names it, or was not given.
	Expected bool
}

// KindHolding is what one owner holds in objects of one kind. The owner has no time and no API
// version.
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
	// Paths are those without another owner, if the question is what the manager's leaving would
	// mean; all of them, if the manager was not expected.
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

// Migrated is the result for the owners of one object whose fields are at versions that the server
// does not serve.
type Migrated struct {
	Ref object.Ref
	// To is the version at which the rewritten ones are now, or would be.
	To string
	// Rewritten owners are named as before. Left are those that cannot be rewritten.
	Rewritten []managedfields.Owner
	Left      []LeftOwner
	// Err is why nothing is known, or nothing was written.
	Err error
}

// LeftOwner is an owner that stays at its version.
type LeftOwner struct {
	Owner managedfields.Owner
	// Unknown are the paths that the served version lacks; empty if its schema is unknown.
	Unknown []FieldName
}

// MigrationEnded says that everything readable was read: objects without a Migrated have no such
// owner.
type MigrationEnded struct {
	Unread []Unread
}

func (Migrated) event()       {}
func (MigrationEnded) event() {}

// Handed objects changed owners of fields, and nothing else.
const Handed Action = "given"

// Given is the result of one object of a give.
type Given struct {
	Ref object.Ref
	// Action is Handed, Unchanged, Failed or Unknown.
	Action Action
	// DryRun: nothing was written.
	DryRun bool
	// Moves are the fields that changed owners, by former owner.
	Moves []Move
	// Left are selected fields that stay as they are.
	Left []Withheld
	// Next is the outlook for the receiver's next apply; nil if its manifest is unknown.
	Next *NextApply
	// Reason is a remark, such as why it is Unchanged.
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
	// Shared: From still has them.
	Shared bool
}

// Withheld is fields that stay with their owner.
type Withheld struct {
	Paths []fieldpath.Path
	Owner managedfields.Owner
	// Why is the reason in a few words.
	Why string
	// Unstated: the receiver's manifest does not have them, so it would remove them.
	Unstated bool
}

// NextApply is the outlook for a manager's next apply, by the manifest that it applied last.
type NextApply struct {
	Manager string
	// Before and After are its conflicts before and after the transfer.
	Before, After []managedfields.Conflict
	// Guarded and StillGuarded count fields in its manifest that others own, before and after: it
	// cannot change those without a conflict.
	Guarded, StillGuarded int
	// Overwrites are values that it replaces, now that no owner is in its way.
	Overwrites []managedfields.Change
	// Removes are fields that it owns now and its manifest lacks.
	Removes []fieldpath.Path
	// Err is why that is unknown.
	Err error
}

func (Given) event() {}
