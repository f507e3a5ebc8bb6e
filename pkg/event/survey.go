package event

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

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
