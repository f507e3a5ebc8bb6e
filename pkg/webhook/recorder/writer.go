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

// Store is where records are kept. It must read what is stored, not a cache of it. Its
// errors are those of the API server: not found, already exists, conflict if the record
// is not the one that was read. After a write, the record has its new resource version.
type Store interface {
	Get(ctx context.Context, namespace, name string) (*ownership.Record, error)
	Create(ctx context.Context, r *ownership.Record) error
	Update(ctx context.Context, r *ownership.Record) error
	// List calls each for every record of the cluster, until one fails.
	List(ctx context.Context, each func(*ownership.Record) error) error
	// Watch calls each for every record that is written from now on, by anyone, until
	// it fails or the context ends. It may miss some.
	Watch(ctx context.Context, each func(*ownership.Record)) error
}

// attempts is how often a write starts again because another one came between. There is no pause
// between them, as package race has one: only other replicas write a record, once for what is
// pending of an object, and the queue waits for firstRetry and longer before it hands out the
// same one again. Meanwhile the writer has other objects to serve.
const attempts = 5

// writer changes records as they are stored.
type writer struct {
	store Store
	// clusterScoped is the namespace of records of objects without one.
	clusterScoped string
	// own are the versions of records that were written here and not seen since.
	own map[string]bool
}

// maxOwn is how many of them are remembered.
const maxOwn = 4096

// change adds to a record, and reports whether the record changed.
type change func(*ownership.Record) (changed bool)

// write changes the record of an object, which may not exist yet. It returns the
// entries that are new in it, and an error if the outcome is refused.
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

// isOurs reports whether a record is where that of its object would be written. A
// record that was made or edited by hand may say anything.
func (w writer) isOurs(r *ownership.Record) bool {
	own := ownership.NewRecord(r.Object, w.clusterScoped)
	return r.Namespace == own.Namespace && r.Name == own.Name
}

// isMissing reports whether the record that was read no longer exists.
func isMissing(err error) bool {
	details := detailsOf(err)
	return apierrors.IsNotFound(err) && details != nil && details.Kind == ownership.RecordPlural && !isUnknownPath(details)
}

// isGone reports whether the namespace is being deleted, along with its objects, and
// accepts no more writes. If the definition of records is missing, the answer is not
// found as well.
func isGone(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	details := detailsOf(err)
	return apierrors.IsNotFound(err) && details != nil && details.Kind == "namespaces"
}

func isUnknownPath(details *metav1.StatusDetails) bool {
	return slices.ContainsFunc(details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeUnexpectedServerResponse
	})
}

func detailsOf(err error) *metav1.StatusDetails {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	return status.Status().Details
}

// name identifies the object, as warnings do.
func name(o ownership.Object) string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}
