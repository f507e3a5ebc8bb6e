package event

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

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
