package locking

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/lock"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Locking is the lock of the set that a run changes.
type Locking struct {
	connection *connection.Connection
	lock       *lock.Lock
	me         lock.Identity
	within     time.Duration
	emit       func(event.Event)
	parent     object.Ref
	store      *Store
	ledger     Ledger
	events     *events
}

// New returns the lock of a run, which is not held yet. From now on, no client of the
// connection writes unless it is held.
func New(c *connection.Connection, run string, within time.Duration, emit func(event.Event)) *Locking {
	l := &Locking{connection: c, me: identity(c, run), within: within, emit: emit}
	l.lock = lock.New(l.me, lock.Usual())
	c.Guard = l.lock
	return l
}

// Hold gets the lock of the set with this parent, and waits for it. The context that it
// returns ends when the lock is lost. brings makes the namespace of the parent, if the set
// brings it; it may be nil.
func (l *Locking) Hold(ctx context.Context, server Server, parent object.Ref, brings func(context.Context) error) (context.Context, error) {
	renewing, err := l.connection.Quick(ctx)
	if err != nil {
		return nil, err
	}
	l.parent, l.store = parent, NewStore(renewing, parent, &l.ledger)
	l.ledger.server, l.ledger.ref = server, l.store.ref
	l.lock.Name(parent.String())
	first := NewStore(server, parent, &l.ledger)
	tell := func(held lock.HeldError) {
		l.emit(event.Waiting{For: "the lock of " + parent.String() + ": " + held.Error(), Within: l.within})
	}
	held, err := l.lock.Acquire(ctx, first, l.store, l.within, tell)
	if brings != nil && isNoNamespace(err) {
		if err := brings(request.Unguarded(ctx)); err != nil {
			return nil, err
		}
		held, err = l.lock.Acquire(ctx, first, l.store, l.within, tell)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", parent, explain(err, l.store.ref))
	}
	l.events = &events{server: renewing, parent: parent, me: l.me, verb: l.connection.Verb}
	return held, nil
}

// isNoNamespace reports whether a Lease could not be created since its namespace is not
// there.
func isNoNamespace(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// explain says which right is missing, if one is.
func explain(err error, lease object.Ref) error {
	if apierrors.IsForbidden(err) {
		return &object.HintedError{
			Err:    fmt.Errorf("cannot lock the set: %w", err),
			Advice: rights(lease),
		}
	}
	return err
}

// Ledger returns that of the set, for the time in which its lock is held. Nil without a lock.
func (l *Locking) Ledger() *Ledger {
	if l == nil {
		return nil
	}
	return &l.ledger
}

// Tell executes a run, and announces its start and its end in the cluster before the lock
// is released. parent is the set's, as it is; objects is their number. Without a lock it
// announces nothing.
func (l *Locking) Tell(ctx context.Context, parent *unstructured.Unstructured, objects int, counts *Tally, do func(context.Context) error) error {
	if l == nil || l.events == nil {
		return do(ctx)
	}
	l.events.send(ctx, parent, corev1.EventTypeNormal, "RunStarted", text.Count(objects, "object"))
	err := do(ctx)
	if err == nil {
		l.events.send(ctx, parent, corev1.EventTypeNormal, "RunSucceeded", counts.String())
		return nil
	}
	why := l.connection.Vault.Text(err.Error())
	l.events.send(ctx, parent, corev1.EventTypeWarning, "RunFailed", strings.TrimPrefix(counts.String()+"; "+why, "; "))
	return err
}

// Ended says how the run ended: it is written down when the lock is given back. A run that
// says nothing has failed. A nil Locking notes nothing.
func (l *Locking) Ended(result history.Result) {
	if l != nil && l.store != nil {
		l.store.result = result
	}
}

// Remove deletes the Lease once the lock was given back: that of a set which is no more. One
// that another run has taken meanwhile stays. So does one that is ours still, because a write
// may arrive: that is reported. The requests of a lock are not retried; those of server are.
func (l *Locking) Remove(ctx context.Context, server Server) error {
	live, err := server.Get(ctx, LeaseKind(), l.store.ref)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	lease, err := RecordOf(live)
	if err == nil && lease.Holder == l.me.Holder {
		l.emit(event.Warned{Ref: l.store.ref, Text: fmt.Sprintf(
			"stays, although the set is deleted, until it has run out in %s: then the same command deletes it", lock.Usual().Duration)})
	}
	if err != nil || lease.Holder != "" {
		return err
	}
	how := object.Deletion{UID: live.GetUID(), ResourceVersion: live.GetResourceVersion()}
	_, err = server.Delete(request.Unguarded(ctx), LeaseKind(), l.store.ref, how)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Release gives the lock back, however the run ended.
func (l *Locking) Release(ctx context.Context) {
	held := l.store != nil && l.lock.Held()
	if l.lock.Release(ctx, l.store) || !held {
		return
	}
	why := "a write may still arrive"
	err := l.lock.Failure()
	if err != nil {
		why = err.Error()
	}
	if apierrors.IsForbidden(err) {
		why += " (" + rights(l.store.ref) + ")"
	}
	l.emit(event.Warned{Ref: l.parent, Text: fmt.Sprintf("the lock of the set is not given back: %s; it is free in %s", why, lock.Usual().Duration)})
}

// rights says what a run may have to do with a Lease.
func rights(lease object.Ref) string {
	return "a run of a set needs get, create and patch on leases.coordination.k8s.io in namespace " + lease.Namespace + ": see docs/rbac.md"
}
