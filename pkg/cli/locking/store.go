package locking

import (
	"cmp"
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/lock"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Store is the Lease of a set in a cluster. The lock does not protect its requests.
type Store struct {
	server Server
	ref    object.Ref
	set    string
	// who the run is, without its process; result is how the run ended, if it has.
	who    string
	result history.Result
	ledger *Ledger
}

// NewStore returns the Lease of the set with this parent, and of this ledger.
func NewStore(server Server, parent object.Ref, of *Ledger) *Store {
	return &Store{server: server, ref: LeaseOf(parent), set: parent.Resource(), who: Who(), ledger: of}
}

// Read implements lock.Store.
func (s *Store) Read(ctx context.Context) (lock.Record, error) {
	live, err := s.server.Get(ctx, LeaseKind(), s.ref)
	if apierrors.IsNotFound(err) {
		return lock.Record{}, lock.ErrAbsent
	}
	s.ledger.see(live, err)
	return recordOf(live, err)
}

// Create implements lock.Store.
func (s *Store) Create(ctx context.Context, lease lock.Record) (lock.Record, error) {
	live, err := s.server.Create(request.Unguarded(ctx), LeaseKind(), s.object(lease), object.Write{Manager: manager})
	if apierrors.IsAlreadyExists(err) {
		return lock.Record{}, lock.ErrChanged
	}
	return recordOf(live, err)
}

// Replace implements lock.Store.
func (s *Store) Replace(ctx context.Context, lease lock.Record) (lock.Record, error) {
	live, err := s.server.Merge(request.Unguarded(ctx), LeaseKind(), s.object(lease), object.Write{Manager: manager})
	switch {
	case apierrors.IsConflict(err):
		return lock.Record{}, lock.ErrChanged
	case apierrors.IsNotFound(err):
		return lock.Record{}, lock.ErrAbsent
	}
	return recordOf(live, err)
}

// object returns a Lease as it is written.
func (s *Store) object(lease lock.Record) *unstructured.Unstructured {
	const micro = "2006-01-02T15:04:05.000000Z07:00"
	spec := map[string]any{
		"holderIdentity":       lease.Holder,
		"leaseDurationSeconds": int64(lease.Duration / time.Second),
		"renewTime":            lease.Renewed.UTC().Format(micro),
		"leaseTransitions":     int64(lease.Transitions),
	}
	if !lease.Acquired.IsZero() {
		spec["acquireTime"] = lease.Acquired.UTC().Format(micro)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(s.ref.GVK)
	u.SetNamespace(s.ref.Namespace)
	u.SetName(s.ref.Name)
	u.SetResourceVersion(lease.Version)
	notes := map[string]string{RunAnnotation: lease.Run, SetAnnotation: s.set, ResultAnnotation: string(history.Running)}
	if lease.Holder != "" {
		notes[WhoAnnotation] = s.who
	} else { // It is given back, and who had it stays there.
		notes[ResultAnnotation] = string(cmp.Or(s.result, history.Failed))
	}
	s.ledger.add(notes, lease)
	u.SetAnnotations(notes)
	return u
}

func recordOf(live *unstructured.Unstructured, err error) (lock.Record, error) {
	if err != nil {
		return lock.Record{}, err
	}
	return RecordOf(live)
}
