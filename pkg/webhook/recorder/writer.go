package recorder

import (
	"context"
	"fmt"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/records"
)

// Store stores records, and lists and watches them.
type Store interface {
	records.Store
	// List passes every record in the cluster to the callback, and stops at the first error.
	List(ctx context.Context, each func(*ownership.Record) error) error
	// Watch calls the callback for every record that any client writes from now on, until the watch
	// fails or the context ends. It may miss some writes.
	Watch(ctx context.Context, each func(*ownership.Record)) error
}

type writer struct {
	store Store
	// clusterScoped is the namespace for the records of cluster-scoped objects.
	clusterScoped string
	// own contains the resource versions of our own writes that the watch has not reported yet.
	own map[string]bool
}

const maxOwn = 4096

type change func(*ownership.Record) (changed bool)

// write creates the record if needed, and returns the new entries. The error is nil unless the
// outcome is refused.
func (w writer) write(ctx context.Context, o ownership.Object, apply change) ([]ownership.Entry, outcome, error) {
	var fresh []ownership.Entry
	r, err := records.Update(ctx, w.store, ownership.NewRecord(o, w.clusterScoped), func(r *ownership.Record) bool {
		before := slices.Clone(r.Entries)
		if !apply(r) {
			return false
		}
		fresh = added(before, r.Entries)
		return true
	})
	switch {
	case records.NamespaceGone(err):
		return nil, gone, nil
	case err != nil:
		return nil, refused, fmt.Errorf("record of %s: %w", name(o), err)
	case r == nil:
		return nil, known, nil
	}
	if len(w.own) < maxOwn {
		w.own[r.ResourceVersion] = true
	}
	return fresh, written, nil
}

// added returns the entries that were not there before, or that only now tell who took the fields.
func added(before, after []ownership.Entry) []ownership.Entry {
	return slices.DeleteFunc(slices.Clone(after), func(e ownership.Entry) bool {
		return slices.ContainsFunc(before, func(old ownership.Entry) bool {
			foundTaken := e.Kind == ownership.Taken && old.Kind == ownership.Lost
			return e.SameParties(old) && !foundTaken
		})
	})
}

// isOurs reports whether a record has the name and namespace that the record of its object must
// have. A user may have created or edited the record.
func (w writer) isOurs(r *ownership.Record) bool {
	own := ownership.NewRecord(r.Object, w.clusterScoped)
	return r.Namespace == own.Namespace && r.Name == own.Name
}

func name(o ownership.Object) string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}
