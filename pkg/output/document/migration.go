package document

import (
	"context"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output"
)

type migrationResult struct {
	header
	DryRun  bool             `json:"dryRun,omitempty"`
	Objects []migratedObject `json:"objects"`
	Unread  []unread         `json:"unread,omitempty"`
}

type migratedObject struct {
	objectName
	Rewritten []managedfields.Owner `json:"rewritten"`
	Left      []leftEntry           `json:"left,omitempty"`
	Error     *fault                `json:"error,omitempty"`
}

// leftEntry is an owner that stays at its version, with the paths that the served version does not
// have.
type leftEntry struct {
	managedfields.Owner
	Unknown []event.FieldName `json:"unknown,omitempty"`
}

type migrationDocument struct {
	output.Base
	migrated []event.Migrated
	unread   []event.Unread
}

// NewMigration returns the document of a migration of owners.
func NewMigration(b output.Base) output.Results { return &migrationDocument{Base: b} }

func (d *migrationDocument) Handle(e event.Event) {
	switch e := e.(type) {
	case event.Migrated:
		d.migrated = append(d.migrated, e)
	case event.MigrationEnded:
		d.unread = e.Unread
	}
}

func (d *migrationDocument) Finish(context.Context) error {
	slices.SortFunc(d.migrated, func(a, b event.Migrated) int { return a.Ref.Compare(b.Ref) })
	out := migrationResult{header: newHeader(d.Base, "MigrationResult"), DryRun: d.DryRun, Objects: []migratedObject{}, Unread: unreadOf(d.unread)}
	for _, m := range d.migrated {
		one := migratedObject{objectName: nameOf(m.Ref), Rewritten: orEmpty(m.Rewritten), Error: faultOf(m.Err)}
		for _, left := range m.Left {
			one.Left = append(one.Left, leftEntry{left.Owner, left.Unknown})
		}
		out.Objects = append(out.Objects, one)
	}
	return writeDocument(d.Base, out)
}
