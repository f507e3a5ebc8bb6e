package setrun

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// validity is how long a Lease is valid after a renewal. After that, another run can take the
	// lock.
	validity = 30 * time.Second
	// margin is the validity that must remain when a write begins.
	margin = 10 * time.Second
	// renewal is the pause between two renewals. poll is the pause between two reads or two
	// attempts.
	renewal = 5 * time.Second
	poll    = time.Second
	// attempt is the timeout of each of the election's requests while the lock is held. Without it,
	// a hanging request could use up the validity.
	attempt = 5 * time.Second
	// outage limits how long a holder keeps trying to renew its Lease. The holder's writes wait for
	// a renewal once the remaining validity is less than margin.
	outage = time.Minute
	// goodbye limits the time for releasing the lock.
	goodbye = 3 * time.Second
)

// Lock is the lock of one set for one run. It implements resourcelock.Interface for its own
// election.
type Lock struct {
	holder, run, who string

	ref    object.Ref
	set    string
	result history.Result
	within time.Duration
	began  time.Time
	report func(*HeldError)

	mu sync.Mutex
	// first is the client that acquires the lock and that NoteNow uses. server is the client for
	// all other requests; once the lock is held, it does not retry.
	first, server LeaseServer
	// version is the resourceVersion of the Lease. since is the time at which this version was
	// first seen.
	lease    resourcelock.LeaderElectionRecord
	version  string
	since    time.Time
	reported string
	// granted is the time at which the last successful renewal was sent; zero if the lock is not
	// held. Other runs count the validity from a later point in time.
	granted time.Time
	lost    error
	// news is closed and replaced when the lock is acquired, renewed or lost.
	news chan struct{}

	end  context.CancelCauseFunc // of the election
	done chan struct{}
	lose context.CancelCauseFunc // ends the run

	// This run found the note (was) in the Lease; sure means that no other run can have followed
	// the run in that note.
	was  string
	sure bool
	// note is the note about this run; empty if this run has applied nothing.
	note string
}

// NewLock returns a lock that is not held yet. holder must be unique to this process.
func NewLock(holder, run string) *Lock {
	return &Lock{holder: holder, run: run, who: Caller(), news: make(chan struct{})}
}

// Acquire waits for the lock, for at most the given duration (within). The returned context ends
// with ctx, or with a *LostError when the lock is lost. If Acquire does not get the lock in time,
// it returns a *HeldError.
func (l *Lock) Acquire(ctx context.Context, parent object.Ref, first, renewing LeaseServer, within time.Duration, report func(*HeldError)) (context.Context, error) {
	electing, end := context.WithCancelCause(klog.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	held, lose := context.WithCancelCause(ctx)
	l.ref, l.set, l.first, l.server = LeaseOf(parent), parent.String(), first, first
	l.within, l.began, l.report = within, time.Now(), report
	l.end, l.done, l.lose = end, make(chan struct{}), lose
	const deadline = validity - margin
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l, Name: l.set, LeaseDuration: validity, RenewDeadline: deadline, RetryPeriod: poll,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return nil, err
	}
	acquired := l.news
	go func() {
		defer close(l.done)
		for electing.Err() == nil { // When an election ends at its deadline, the next one tries to renew.
			elector.Run(electing)
		}
	}()
	select {
	case <-acquired:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.server = renewing
		return held, nil
	case <-ctx.Done():
		end(context.Cause(ctx))
	case <-electing.Done():
	}
	<-l.done
	return nil, context.Cause(electing)
}

// age returns the time since the last renewal. The monotonic clock may stop while the machine
// sleeps, and the wall clock may be changed, so age returns the larger of the two times.
func (l *Lock) age() time.Duration {
	now := time.Now()
	return max(now.Sub(l.granted), now.Round(0).Sub(l.granted.Round(0)))
}

// Held reports whether the lock is held.
func (l *Lock) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.granted.IsZero()
}

var errNotHeld = errors.New("the lock of the set is not held")

// Begin delays a write until the Lease has been renewed recently enough. It returns an error if the
// lock is lost or not held.
func (l *Lock) Begin(ctx context.Context) error {
	for {
		l.mu.Lock()
		lost, held, old, news := l.lost, !l.granted.IsZero(), l.age() > validity-margin, l.news
		l.mu.Unlock()
		switch {
		case lost != nil:
			return lost
		case !held:
			return errNotHeld
		case !old:
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *Lock) wake() {
	close(l.news)
	l.news = make(chan struct{})
}

// loses marks the lock as lost. It ends the run first and then the election. Otherwise, a write
// between the two would seem to have been refused by the server.
func (l *Lock) loses(err *LostError) {
	err.set = l.set
	l.lost, l.granted = err, time.Time{}
	l.lose(err)
	l.end(err)
	l.wake()
}

// Release releases the lock if it is held. It does not wait for an unanswered write, because the
// API server drops a request when its connection closes.
func (l *Lock) Release(ctx context.Context) error {
	if l.end == nil {
		return nil
	}
	l.end(nil)
	<-l.done
	l.end = nil // Release it once.
	defer l.lose(nil)
	l.mu.Lock()
	held := !l.granted.IsZero()
	l.granted = time.Time{}
	l.wake()
	l.mu.Unlock()
	if !held {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	for {
		free := l.lease
		free.HolderIdentity, free.RenewTime.Time = "", time.Now()
		_, err := l.server.Merge(transport.Unguarded(ctx), LeaseKind(), l.object(free), object.Write{Manager: manager})
		if !apierrors.IsConflict(err) {
			return err
		}
		// A renewal whose response was lost may have changed the Lease, so read its version again.
		live, err := l.server.Get(ctx, LeaseKind(), l.ref)
		if err != nil {
			return err
		}
		if l.lease, err = recordOf(live); err != nil || l.lease.HolderIdentity != l.holder {
			return err
		}
		l.version = live.GetResourceVersion()
	}
}
