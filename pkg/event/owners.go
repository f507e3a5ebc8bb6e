package event

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Owned is an object with the owners of its fields. It is the result of the verb owners.
type Owned struct {
	Ref            object.Ref
	Path           fieldpath.Path
	Fields, Absent []managedfields.Node
	// Holdings counts each owner's fields in the whole object, with the largest count first. The
	// zero Owner represents fields without an owner.
	Holdings     []Holding
	StatusHidden bool
	Unmanaged    bool
	History      *History
	// Deletions are those of objects with this name, with the newest first. They are set only if the
	// object does not exist, and only with History.
	Deletions []Deletion
}

// Holding counts the fields of one owner.
type Holding struct {
	Owner  managedfields.Owner
	Fields int
}

// History lists the ownership changes that the webhook recorded.
type History struct {
	// Transitions are sorted by their last occurrence. If From is set, no transition is older than
	// From.
	Transitions []Transition
	From        time.Time
	Dropped     int
	Lost        int
	Err         error
	Coverage    Coverage
}

// Coverage describes the periods in which the webhook watched. Its times are in UTC.
type Coverage struct {
	// Since is the time at which the watch of this kind and namespace began. Without it, Unknown
	// explains why.
	Since time.Time `json:"since,omitzero"`
	// Until is the time at which the webhook last saved its progress, which it does every minute. It is
	// not set if the webhook never did.
	Until time.Time `json:"until,omitzero"`
	// Gaps lists the periods in which the webhook did not watch.
	Gaps []Gap `json:"gaps,omitempty"`
	// Behind is not set if, at Until, the webhook had recorded all changes.
	Behind *Behind `json:"behind,omitempty"`
	// Unknown is the reason why the coverage is unknown.
	Unknown string `json:"unknown,omitempty"`
	// Stale means that the webhook is probably down, because Until is too long ago.
	Stale bool `json:"-"`
}

// Behind counts changes that the webhook has seen but not recorded.
type Behind struct {
	// Changes is their number in the whole cluster.
	Changes int `json:"changes"`
	// Since is the time at which the webhook saw the oldest one.
	Since time.Time `json:"since"`
}

// From returns the coverage from the given time on.
func (c Coverage) From(since time.Time) Coverage {
	if !since.After(c.Since) {
		return c
	}
	c.Since = since
	return c.For(since)
}

// For returns the coverage without the gaps that ended before an object was created.
func (c Coverage) For(created time.Time) Coverage {
	c.Gaps = slices.DeleteFunc(slices.Clone(c.Gaps), func(g Gap) bool { return !g.To.After(created) })
	return c
}

// Gap is a period in which the webhook was down or could not keep up.
type Gap struct {
	// From is the beginning of the period.
	From time.Time `json:"from"`
	// To is the end of the period.
	To time.Time `json:"to"`
}

// Transition is a path that changed owners, possibly back and forth. Its times are in UTC, and its
// lists are not nil.
type Transition struct {
	// Path is the path of the field.
	Path string `json:"path"`
	// Kind is the kind of the last occurrence: taken, released, given or lost; see
	// docs/owners.md.
	Kind string `json:"change"`
	// From lists the owners before the last occurrence.
	From []managedfields.Owner `json:"from"`
	// To lists the owners after it.
	To []managedfields.Owner `json:"to"`
	// Cut means that some owners were omitted or truncated.
	Cut bool `json:"cut,omitempty"`
	// Forced means that the last change was forced.
	Forced bool `json:"forced,omitempty"`
	// Gap means that the webhook was not watching at the time of a change.
	Gap bool `json:"gap,omitempty"`
	// User is the user who made the last change; empty if unknown.
	User string `json:"user,omitempty"`
	// FromValue is the value before the last occurrence; empty if not recorded. Values are recorded for
	// a few paths.
	FromValue string `json:"fromValue,omitempty"`
	// ToValue is the value after the last occurrence; empty if not recorded.
	ToValue string `json:"toValue,omitempty"`
	// Count is the number of occurrences.
	Count int `json:"count"`
	// First is the time of the first occurrence.
	First time.Time `json:"first"`
	// Last is the time of the last occurrence.
	Last time.Time `json:"last"`
}

func (Owned) event() {}

// PastChanges lists recorded ownership changes of many objects. It is the result of owners
// --history without a named object.
type PastChanges struct {
	Where    string
	From     time.Time
	Changes  []ObjectTransition
	Coverage Coverage
	Limits   []string
	// Dropped counts older changes that are no longer kept. Lost counts changes that the webhook
	// could not write.
	Dropped, Lost int
}

// ObjectTransition is a transition with its object.
type ObjectTransition struct {
	Ref object.Ref
	Transition
}

func (PastChanges) event() {}

// Surveyed counts the owners of fields in many objects. It is the result of the verb owners without
// a named object.
//
// A manager's field is shared if another manager also owns the field or something below it. Any
// other field has the manager as its sole owner, and would have no owner without the manager.
type Surveyed struct {
	Where              string
	Objects, Unmanaged int
	// Managers has a row for each manager, and Holdings one for each owner and kind.
	Managers []ManagerHolding
	Holdings []KindHolding
	// Unexpected lists, by object, the fields of managers that --expect does not name, except
	// fields in the status. Expecting means that --expect was given.
	Unexpected []ObjectHolding
	Expecting  bool
	Leaving    []ObjectHolding
	From       []string
	Unserved   []VersionHolding
	Seen       []string
	Unread     []Unread
}

// Fields counts paths of managed fields.
type Fields struct {
	All, Shared int
}

// Sole returns the number of fields that have no other owner.
func (f Fields) Sole() int { return f.All - f.Shared }

// Plus returns the sum of two counts.
func (f Fields) Plus(other Fields) Fields {
	return Fields{All: f.All + other.All, Shared: f.Shared + other.Shared}
}

// ManagerHolding counts what one manager owns, through any operation.
type ManagerHolding struct {
	Manager        string
	Kinds, Objects int
	Fields         Fields
	// Expected means that --expect names the manager, or was not given.
	Expected bool
}

// KindHolding counts what one owner owns in objects of one kind. Owner has no time and no API
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
	// Paths lists the manager's fields or, with --from, only those without another owner.
	Paths []FieldName
}

// VersionHolding counts the objects of one kind in which an owner has fields at one API version.
type VersionHolding struct {
	Owner   managedfields.Owner
	Kind    schema.GroupKind
	Objects int
}

// Unread is a kind or an object that could not be read.
type Unread struct {
	Ref object.Ref
	Err error
}

func (Surveyed) event() {}

// Unmanaged lists the objects that no tool manages, the oldest first.
type Unmanaged struct {
	Where   string
	Objects int
	Found   []UnmanagedObject
	Unread  []Unread
}

// UnmanagedObject is an object that no tool manages.
type UnmanagedObject struct {
	Ref object.Ref
	// Manager wrote most of the object, last at Written. Person means that people write under this name.
	Manager          string
	Created, Written time.Time
	Person           bool
	// LastOfManager is the manager's last write in any object.
	LastOfManager time.Time
}

func (Unmanaged) event() {}

// Migrated is the result for an object with owners at versions that the server does not serve.
type Migrated struct {
	Ref       object.Ref
	To        string
	Rewritten []managedfields.Owner
	Left      []LeftOwner
	Err       error
}

// LeftOwner is an owner that remains at its version.
type LeftOwner struct {
	Owner managedfields.Owner
	// Unknown lists the owner's paths that the served version lacks. It is empty if that version
	// has no schema.
	Unknown []FieldName
}

// MigrationEnded means that every readable object was read. Objects without a Migrated event have
// nothing to rewrite.
type MigrationEnded struct {
	Unread []Unread
}

func (Migrated) event()       {}
func (MigrationEnded) event() {}

// Handed means that fields changed owners and nothing else changed.
const Handed Action = "given"

// Given is the result of the verb give for one object.
type Given struct {
	Ref    object.Ref
	Action Action
	DryRun bool
	Moves  []Move
	Left   []Withheld
	Next   *NextApply
	Reason string
	Err    error
}

// Move is a group of fields that passed from one owner to another.
type Move struct {
	Paths []fieldpath.Path
	From  managedfields.Owner
	// To is zero if the fields were released.
	To     managedfields.Owner
	Shared bool
}

// Withheld is a group of fields that stay with their owner.
type Withheld struct {
	Paths []fieldpath.Path
	Owner managedfields.Owner
	Why   string
	// Undeclared means that the receiver's manifest lacks the fields, so its next apply would remove
	// them.
	Undeclared bool
}

// NextApply predicts a manager's next apply of its last manifest.
type NextApply struct {
	Manager string
	// Manifest names the manifest if the user did not pass it, such as "the stored manifest
	// (revision 3)".
	Manifest      string
	Before, After []managedfields.Conflict
	// Guarded and StillGuarded count the manifest's fields that others own, before and after the
	// transfer.
	Guarded, StillGuarded int
	// Overwrites lists values that the manager will replace, because no other owner prevents this
	// any longer.
	Overwrites []managedfields.Change
	Removes    []fieldpath.Path
	// Refused is the server's refusal of the apply for another reason than a conflict; it remains when no
	// conflict does.
	Refused error
	// Err means that the apply, or what comes after its conflicts, cannot be predicted.
	Err error
}

func (Given) event() {}
