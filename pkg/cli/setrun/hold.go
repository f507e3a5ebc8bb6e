package setrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// LockFlags are the flags of verbs that change a set.
type LockFlags struct{ timeout time.Duration }

const timeoutFlag = "lock-timeout"

// Add adds the flag. Its default is long enough for the lock of a killed run to expire.
func (f *LockFlags) Add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.timeout, timeoutFlag, time.Minute,
		"How long to wait for the lock of the set if another run holds it; 0 does not wait")
}

// Within returns how long to wait for the lock. named means that the run has a set.
func (f *LockFlags) Within(given func(flag string) bool, named bool) (time.Duration, error) {
	switch {
	case f.timeout < 0:
		return 0, errors.New("--" + timeoutFlag + " must not be negative")
	case given(timeoutFlag) && !named:
		return 0, errors.New("--" + timeoutFlag + " requires --apply-set: without a set there is no lock")
	}
	return f.timeout, nil
}

// Locking is the lock of a run's set, with its messages and Events.
type Locking struct {
	*Lock
	connection *connection.Connection
	within     time.Duration
	emit       func(event.Event)
	parent     object.Ref
	events     *events
}

// New returns the lock of a run. From then on, the connection's clients write only while the lock
// is held.
func New(c *connection.Connection, run string, within time.Duration, emit func(event.Event)) *Locking {
	holder := fmt.Sprintf("%s pid %d %s", Caller(), os.Getpid(), c.Process())
	l := &Locking{Lock: NewLock(holder, run), connection: c, within: within, emit: emit}
	c.Guard = l.Begin
	return l
}

// Caller returns the user and the machine or Pod, so that others can find out who holds a lock.
func Caller() string {
	const long = 60
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = cmp.Or(u.Username, name)
	}
	host, _ := os.Hostname()
	return text.Truncate(text.Printable(cmp.Or(name, "?")), long) + "@" + text.Truncate(text.Printable(cmp.Or(host, "?")), long)
}

// Hold waits for the lock. The returned context ends when the lock is lost. If the parent's
// namespace does not exist, Hold creates it with the callback (brings), which may be nil.
func (l *Locking) Hold(ctx context.Context, server LeaseServer, parent object.Ref, brings func(context.Context) error) (context.Context, error) {
	renewing, err := l.connection.Quick(ctx)
	if err != nil {
		return nil, err
	}
	l.parent = parent
	report := func(held *HeldError) {
		l.emit(event.Waiting{For: "the lock of " + parent.String() + ": " + held.Error(), Within: l.within})
	}
	held, err := l.Acquire(ctx, parent, server, renewing, l.within, report)
	if brings != nil && isNoNamespace(err) {
		if err := brings(transport.Unguarded(ctx)); err != nil {
			return nil, err
		}
		held, err = l.Acquire(ctx, parent, server, renewing, l.within, report)
	}
	if apierrors.IsForbidden(err) {
		err = &object.HintedError{Err: fmt.Errorf("cannot lock the set: %w", err), Advice: rights(l.ref)}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", parent, err)
	}
	l.events = &events{server: renewing, parent: parent, lock: l.Lock, verb: l.connection.Verb}
	return held, nil
}

func isNoNamespace(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// Announce calls the callback (do) while the lock is held, and creates Events at the start and at
// the end. If there is no lock, it creates no Events.
func (l *Locking) Announce(ctx context.Context, parent *unstructured.Unstructured, objects int, counts *Tally, do func(context.Context) error) error {
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

// Ended sets the result that Release will record. A run without a result counts as failed. A nil
// Locking does nothing.
func (l *Locking) Ended(result history.Result) {
	if l != nil {
		l.result = result
	}
}

// ReleaseUnused releases the lock of a run that wrote nothing. It deletes the Lease if the set does
// not exist. A nil Locking does nothing.
func (l *Locking) ReleaseUnused(ctx context.Context, server LeaseServer, exists bool) {
	if l == nil || !l.Held() {
		return
	}
	l.Ended(history.Refused)
	l.Release(ctx)
	if !exists {
		_ = l.Remove(ctx, server) // A Lease that is left behind is small and harmless.
	}
}

// Remove deletes the released Lease of a deleted set, unless another run has taken the lock. server
// retries requests.
func (l *Locking) Remove(ctx context.Context, server LeaseServer) error {
	live, err := server.Get(ctx, LeaseKind(), l.ref)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	if lease, err := recordOf(live); err != nil || lease.HolderIdentity != "" && lease.HolderIdentity != l.holder {
		return err
	}
	how := object.Deletion{UID: live.GetUID(), ResourceVersion: live.GetResourceVersion()}
	_, err = server.Delete(transport.Unguarded(ctx), LeaseKind(), l.ref, how)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Release releases the lock. Every run must call it, even one that failed.
func (l *Locking) Release(ctx context.Context) {
	err := l.Lock.Release(ctx)
	if err == nil {
		return
	}
	why := err.Error()
	if apierrors.IsForbidden(err) {
		why += " (" + rights(l.ref) + ")"
	}
	l.emit(event.Warned{Ref: l.parent, Text: fmt.Sprintf("the lock of the set was not released: %s; it expires in %s", why, validity)})
}

// rights returns the permissions that a run needs on Leases.
func rights(lease object.Ref) string {
	return "a run of a set needs the verbs get, create and patch on leases.coordination.k8s.io in namespace " + lease.Namespace + ": see docs/rbac.md"
}
