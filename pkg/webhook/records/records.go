// Package records adds to one record in the cluster, while other replicas do the same. Each recorder
// of the webhook writes with [Update].
package records

import (
	"context"
	"errors"
	"time"

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
}

const (
	// attempts is the maximum number of attempts at a write that conflicts. There is no pause between
	// attempts. Conflicts are rare, because only other replicas write a record, once for each batch.
	attempts    = 5
	callTimeout = 5 * time.Second
)

// Update adds to the record with the name of empty, or creates it from empty. The function change
// adds, and reports whether it did; it is called once for each attempt. Update returns the record that
// it wrote, or nil if there was nothing to write. [NamespaceGone] tells a namespace that accepts no
// record from other errors.
func Update(ctx context.Context, store Store, empty *ownership.Record, change func(*ownership.Record) bool) (r *ownership.Record, err error) {
	for range attempts {
		if r, err = attempt(ctx, store, empty, change); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !isMissing(err) {
			break
		}
	}
	return r, err
}

func attempt(ctx context.Context, store Store, empty *ownership.Record, change func(*ownership.Record) bool) (*ownership.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := store.Get(ctx, empty.Namespace, empty.Name)
	write := store.Update
	switch {
	case apierrors.IsNotFound(err):
		r, write = empty.DeepCopy(), store.Create
	case err != nil:
		return nil, err
	}
	if !change(r) {
		return nil, nil
	}
	if err := write(ctx, r); err != nil {
		return nil, err
	}
	return r, nil
}

// NamespaceGone reports whether an error says that the namespace is being deleted or no longer
// exists. If the CRD of records is missing, the error is also NotFound, but about another kind.
func NamespaceGone(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || isNotFound(err, "namespaces")
}

// isMissing reports whether the record was deleted after it was read.
func isMissing(err error) bool {
	return isNotFound(err, ownership.RecordPlural) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func isNotFound(err error, resource string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == resource
}
