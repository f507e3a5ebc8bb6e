package owners

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields/transfer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// MigrationServer is the part of the API client that a [Migrator] needs.
type MigrationServer interface {
	object.Getter
	// SetManagedFields returns a conflict if the object has changed since live was read.
	SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error)
}

// Knowledge is the result of looking up a path in a schema.
type Knowledge int

// SchemaUnknown means that there is no schema.
const (
	SchemaUnknown Knowledge = iota
	PathKnown
	PathUnknown
)

// Migrator rewrites owners at API versions that are no longer served. Without the rewrite, the next
// apply by the manager of such an owner removes no fields, and the next write by another manager
// drops the owner's entry.
type Migrator struct {
	Server MigrationServer
	// Served reports whether the server serves a kind at a version.
	Served func(schema.GroupVersionKind) bool
	// Has reports whether a kind has a path at that kind's version.
	Has func(object.Kind, fieldpath.Path) Knowledge
	// Managers limits the rewrite; nil means all managers.
	Managers []string
	DryRun   bool
}

// Migrate moves the owners of one object to the kind's version. It returns false if there is
// nothing to rewrite. An owner moves only as a whole.
func (m *Migrator) Migrate(ctx context.Context, kind object.Kind, ref object.Ref) (event.Migrated, bool) {
	for attempts := retry.At(ref); ; {
		reported, again := m.once(ctx, kind, ref, attempts)
		if !again {
			return reported, reported.Err != nil || len(reported.Rewritten)+len(reported.Left) > 0
		}
		if err := attempts.Again(ctx); err != nil {
			return event.Migrated{Ref: ref, Err: err}, true
		}
	}
}

// once tries the rewrite one time. It returns true if another client wrote the object between the
// read and the write, so that the rewrite must be tried again.
func (m *Migrator) once(ctx context.Context, kind object.Kind, ref object.Ref, attempts *retry.Attempts) (reported event.Migrated, again bool) {
	reported = event.Migrated{Ref: ref, To: kind.GVK.GroupVersion().String()}
	live, err := m.Server.Get(ctx, kind, ref)
	if apierrors.IsNotFound(err) {
		return reported, false // It was deleted after it was listed.
	}
	if err != nil {
		reported.Err = err
		return reported, false
	}
	attempts.OnRead(live)
	entries, err := managedfields.Entries(live)
	if err != nil {
		reported.Err = err
		return reported, false
	}
	for _, e := range entries {
		if !Stale(kind.GVK.Kind, e.Owner, m.Managers, m.Served) {
			continue
		}
		if unknown, movable := m.movable(kind, e.Fields); !movable {
			reported.Left = append(reported.Left, event.LeftOwner{Owner: e.Owner, Unknown: unknown})
			continue
		}
		reported.Rewritten = append(reported.Rewritten, e.Owner)
	}
	if len(reported.Rewritten) == 0 || m.DryRun {
		return reported, false
	}
	fields, err := managedfields.Encode(transfer.Reversion(entries, reported.Rewritten, reported.To))
	if err != nil {
		reported.Rewritten, reported.Err = nil, err
		return reported, false
	}
	_, err = m.Server.SetManagedFields(ctx, kind, live, fields)
	if apierrors.IsConflict(err) {
		return reported, true
	}
	if err != nil {
		reported.Rewritten, reported.Err = nil, err
	}
	return reported, false
}

// movable reports whether the kind, at its version, has all of an owner's paths. It also returns
// the paths that the kind lacks.
func (m *Migrator) movable(kind object.Kind, fields *fieldpath.Set) (unknown []event.FieldName, movable bool) {
	movable = true
	fieldpath.Each(fields, func(p fieldpath.Path) {
		switch m.Has(kind, p) {
		case PathKnown:
		case PathUnknown:
			movable = false
			unknown = append(unknown, event.FieldName(p.String()))
		case SchemaUnknown:
			movable = false
		}
	})
	return unknown, movable
}

// Stale reports whether an owner is at a version that the server does not serve. Unless managers is
// nil, the owner must also be one of them.
func Stale(kind string, owner managedfields.Owner, managers []string, served func(schema.GroupVersionKind) bool) bool {
	if managers != nil && !slices.Contains(managers, owner.Manager) {
		return false
	}
	return !served(schema.FromAPIVersionAndKind(owner.APIVersion, kind))
}
