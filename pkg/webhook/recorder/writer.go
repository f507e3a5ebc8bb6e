package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Store stores records. It must not read from a cache. Its errors are those of the API server: not
// found, already exists, or a conflict if the record has changed since it was read. A write updates
// the resource version in the given record.
type Store interface {
	Get(ctx context.Context, namespace, name string) (*ownership.Record, error)
	Create(ctx context.Context, r *ownership.Record) error
	Update(ctx context.Context, r *ownership.Record) error
	// List passes every record in the cluster to the callback, and stops at the first error.
	List(ctx context.Context, each func(*ownership.Record) error) error
	// Watch calls the callback for every record that any client writes from now on, until the watch
	// fails or the context ends. It may miss some writes.
	Watch(ctx context.Context, each func(*ownership.Record)) error
}

// attempts is the maximum number of attempts at a write that conflicts. There is no pause between
// attempts. Conflicts are rare, because only other replicas write a record, once for each batch.
const attempts = 5

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
	var err error
	for range attempts {
		var fresh []ownership.Entry
		var result outcome
		fresh, result, err = w.attempt(ctx, o, apply)
		switch {
		case err == nil:
			return fresh, result, nil
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), isMissing(err):
			continue
		case isGone(err):
			return nil, gone, nil
		}
		break
	}
	return nil, refused, fmt.Errorf("record of %s: %w", name(o), err)
}

func (w writer) attempt(ctx context.Context, o ownership.Object, apply change) ([]ownership.Entry, outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	empty := ownership.NewRecord(o, w.clusterScoped)
	r, err := w.store.Get(ctx, empty.Namespace, empty.Name)
	isNew := apierrors.IsNotFound(err)
	switch {
	case isNew:
		r = empty
	case err != nil:
		return nil, refused, err
	}
	before := slices.Clone(r.Entries)
	if !apply(r) {
		return nil, known, nil
	}
	fresh := slices.DeleteFunc(slices.Clone(r.Entries), func(e ownership.Entry) bool {
		return slices.ContainsFunc(before, func(old ownership.Entry) bool {
			foundTaken := e.Kind == ownership.Taken && old.Kind == ownership.Lost
			return e.SameParties(old) && !foundTaken
		})
	})
	if isNew {
		err = w.store.Create(ctx, r)
	} else {
		err = w.store.Update(ctx, r)
	}
	if err == nil && len(w.own) < maxOwn {
		w.own[r.ResourceVersion] = true
	}
	return fresh, written, err
}

// isOurs reports whether a record has the name and namespace that the record of its object must
// have. A user may have created or edited the record.
func (w writer) isOurs(r *ownership.Record) bool {
	own := ownership.NewRecord(r.Object, w.clusterScoped)
	return r.Namespace == own.Namespace && r.Name == own.Name
}

func isMissing(err error) bool {
	return isNotFound(err, ownership.RecordPlural) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// isGone reports whether the namespace is being deleted or no longer exists. If the CRD of records
// is missing, the error is also NotFound, but about another kind.
func isGone(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || isNotFound(err, "namespaces")
}

func isNotFound(err error, resource string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == resource
}

func name(o ownership.Object) string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}
