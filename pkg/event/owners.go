package event

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Owned is an object with the owners of its fields: the result of the verb owners.
type Owned struct {
	Ref object.Ref
	// Path is the selected part of the object; nil means all of it.
	Path fieldpath.Path
	// Fields are the object's fields with their values. Absent are fields that have an owner but
	// are not in the object.
	Fields, Absent []managedfields.Node
	// Holdings counts the fields of each owner in the whole object, the most first. The zero Owner
	// stands for fields without an owner.
	Holdings []Holding
	// StatusHidden is set if Fields does not include the status.
	StatusHidden bool
	// Unmanaged is set if the object has no managed fields.
	Unmanaged bool
	// History is nil unless it was requested.
	History *History
}

// Holding counts the fields of one owner.
type Holding struct {
	Owner  managedfields.Owner
	Fields int
}

// History lists the ownership changes of an object that the webhook recorded.
type History struct {
	// Transitions are sorted by when each last happened. If From is set, none is older.
	Transitions []Transition
	From        time.Time
	// Dropped is how many older transitions were discarded.
	Dropped int
	// Lost is how many transitions the webhook could not write.
	Lost int
	// Err is why the history is unknown.
	Err error
	// Coverage is the period that the record covers.
	Coverage Coverage
}

// Coverage says when the webhook watched. Its times are in UTC.
type Coverage struct {
	// Since is when the watch of this kind and namespace began; zero if there is none or that is
	// unknown. Unknown says why.
	Since time.Time `json:"since,omitzero"`
	// Until is when the webhook last saved its progress, which it does every minute; zero if never.
	Until time.Time `json:"until,omitzero"`
	// Gaps are later periods in which changes may be missing.
	Gaps []Gap `json:"gaps,omitempty"`
	// Behind is nil if the webhook had recorded everything at Until.
	Behind  *Behind `json:"behind,omitempty"`
	Unknown string  `json:"unknown,omitempty"`
	// Stale is set if Until is so long ago that the webhook is probably down.
	Stale bool `json:"-"`
}

// Behind counts changes in the whole cluster that the webhook has seen and not yet recorded. It saw
// the oldest at Since.
type Behind struct {
	Changes int       `json:"changes"`
	Since   time.Time `json:"since"`
}

// From returns the coverage since a time.
func (c Coverage) From(since time.Time) Coverage {
	if !since.After(c.Since) {
		return c
	}
	c.Since = since
	return c.For(since)
}

// For returns the coverage of an object created at the given time: gaps that ended before are
// dropped.
func (c Coverage) For(created time.Time) Coverage {
	c.Gaps = slices.DeleteFunc(slices.Clone(c.Gaps), func(g Gap) bool { return !g.To.After(created) })
	return c
}

// Gap is a period in which changes may be missing, because the webhook was down or could not keep
// up.
type Gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Transition is a path that changed owners, possibly back and forth. Its times are in UTC, and its
// lists are not nil.
type Transition struct {
	// Path may be truncated.
	Path string `json:"path"`
	// Kind is how it last happened: taken, released or lost.
	Kind string                `json:"change"`
	From []managedfields.Owner `json:"from"`
	To   []managedfields.Owner `json:"to"`
	// Cut is set if there were more owners than From and To list.
	Cut bool `json:"cut,omitempty"`
	// Forced is set if the last change was forced. Gap is set if one of the changes fell into a gap
	// in the watch.
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

// PastChanges lists the recorded ownership changes of many objects: the result of owners --history
// without a named object.
type PastChanges struct {
	// Where describes the selection, to be appended to a sentence.
	Where string
	// From is the requested start; zero for all time.
	From time.Time
	// Changes are sorted: the newest first.
	Changes  []ObjectTransition
	Coverage Coverage
	// Limits says which of the objects are not watched, or not for the whole period.
	Limits []string
	// Dropped is how many older changes in the period may have been discarded, Lost how many the
	// webhook could not write.
	Dropped, Lost int
}

// ObjectTransition is a transition with its object.
type ObjectTransition struct {
	Ref object.Ref
	Transition
}

func (PastChanges) event() {}

// Surveyed counts the owners of fields in many objects. It is the result of the verb owners if no
// object is named.
//
// A field is shared if another manager also owns it or something below it. Any other field has a
// sole owner: without this manager, the field would have no owner.
type Surveyed struct {
	// Where describes the selection, to be appended to a sentence.
	Where string
	// Objects is how many objects were read, Unmanaged how many of them have no managed fields.
	Objects, Unmanaged int
	// Managers has one row for each manager, Holdings one for each owner and kind.
	Managers []ManagerHolding
	Holdings []KindHolding
	// Unexpected lists the fields outside the status, by object, of managers that --expect does not
	// name. Expecting is set if --expect was given.
	Unexpected []ObjectHolding
	Expecting  bool
	// Leaving is what the managers in From own, by object.
	Leaving []ObjectHolding
	// From are the managers of --from.
	From []string
	// Unserved is what is owned at API versions that the server does not serve.
	Unserved []VersionHolding
	// Seen lists all managers that own anything.
	Seen []string
	// Unread lists what could not be read.
	Unread []Unread
}

// Fields counts paths of managed fields.
type Fields struct {
	// All counts all fields, Shared those that are shared.
	All, Shared int
}

// Sole returns how many of the fields have no other owner.
func (f Fields) Sole() int { return f.All - f.Shared }

// Plus returns the sum of two counts.
func (f Fields) Plus(other Fields) Fields {
	return Fields{All: f.All + other.All, Shared: f.Shared + other.Shared}
}

// ManagerHolding counts what one manager owns, by any operation.
type ManagerHolding struct {
	Manager string
	// Kinds and Objects count those in which it owns fields.
	Kinds, Objects int
	Fields         Fields
	// Expected is set if --expect names the manager or was not given.
	Expected bool
}

// KindHolding counts what one owner has in objects of one kind. Owner has no time and no API
// version.
type KindHolding struct {
	Owner   managedfields.Owner
	Kind    schema.GroupKind
	Objects int
	Fields  Fields
}

// FieldName is a path as text.
type FieldName string

// ObjectHolding is what one manager owns in one object.
type ObjectHolding struct {
	Ref     object.Ref
	Manager string
	Fields  Fields
	// Paths are its sole fields, with --from, or all of its fields, if the manager is unexpected.
	Paths []FieldName
}

// VersionHolding counts the objects of one kind in which an owner has fields at one API version.
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

// Migrated is the result for one object that has owners at versions that the server does not serve.
type Migrated struct {
	Ref object.Ref
	// To is the version to which they are, or would be, rewritten.
	To string
	// Rewritten lists the rewritten owners, with their old versions. Left lists owners that cannot be
	// rewritten.
	Rewritten []managedfields.Owner
	Left      []LeftOwner
	// Err says why nothing is known or nothing was written.
	Err error
}

// LeftOwner is an owner that stays at its version.
type LeftOwner struct {
	Owner managedfields.Owner
	// Unknown lists its paths that the served version does not have; empty if that version has no
	// schema.
	Unknown []FieldName
}

// MigrationEnded says that every readable object was read: those without a Migrated event have
// nothing to rewrite.
type MigrationEnded struct {
	Unread []Unread
}

func (Migrated) event()       {}
func (MigrationEnded) event() {}

// Handed means that fields changed owners, and nothing else changed.
const Handed Action = "given"

// Given is the result of a give for one object.
type Given struct {
	Ref object.Ref
	// Action is Handed, Unchanged, Failed or Unknown.
	Action Action
	// DryRun is set if nothing was written.
	DryRun bool
	// Moves are the fields that changed owners, grouped by former owner.
	Moves []Move
	// Left lists selected fields that did not change owners.
	Left []Withheld
	// Next predicts the receiver's next apply; nil if its manifest is unknown.
	Next *NextApply
	// Reason is a remark, such as why the object is Unchanged.
	Reason string
	// Err is set with Failed and Unknown.
	Err error
}

// Move is a group of fields that went from one owner to another.
type Move struct {
	Paths []fieldpath.Path
	From  managedfields.Owner
	// To is zero if the fields were released.
	To managedfields.Owner
	// Shared is set if From still owns them too.
	Shared bool
}

// Withheld is a group of fields that stay with their owner.
type Withheld struct {
	Paths []fieldpath.Path
	Owner managedfields.Owner
	// Why is the reason in a few words.
	Why string
	// Unstated is set if the receiver's manifest does not contain them, so that its next apply
	// would remove them.
	Unstated bool
}

// NextApply predicts a manager's next apply from the manifest that it applied last.
type NextApply struct {
	Manager string
	// Before and After are its conflicts before and after the transfer.
	Before, After []managedfields.Conflict
	// Guarded and StillGuarded count the fields in its manifest that others own, before and after:
	// it cannot change them without a conflict.
	Guarded, StillGuarded int
	// Overwrites are values that it will replace, now that no other owner stops it.
	Overwrites []managedfields.Change
	// Removes are fields that it owns now and that its manifest does not contain.
	Removes []fieldpath.Path
	// Err says why that is unknown.
	Err error
}

func (Given) event() {}
