// Package sets gives a run the lock of its set: a Lease, which client-go's leader
// election acquires and renews. It also has what is reported of a lock, and the Events that
// announce a run.
//
//	l := locking.New(c, ...)              // before any client is made: it guards all writes
//	held, err := l.Hold(ctx, client, ...) // ends when the lock is lost
//	defer l.Release(ctx)
package sets

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
	// validity is how long a Lease is good for that is not renewed: a run that was killed is
	// replaced after that.
	validity = 30 * time.Second
	// margin is how much of it has to be left when a write begins.
	margin = 10 * time.Second
	// renewal is the pause between two renewals; poll that between two looks at another run's
	// Lease, and before a renewal that failed is tried again.
	renewal = 5 * time.Second
	poll    = time.Second
	// attempt bounds one request of a renewal: one that hangs must not use up the time.
	attempt = 5 * time.Second
	// outage is how long a holder tries to renew its Lease, without writing, before it gives up.
	outage = time.Minute
	// goodbye bounds the release.
	goodbye = 3 * time.Second
)

// Lock is the lock of one set, as one run sees it. It is the resourcelock.Interface of its
// own election.
type Lock struct {
	holder, run, who string

	ref object.Ref
	set string
	// result is how the run ended, if it has.
	result history.Result
	within time.Duration
	began  time.Time
	report func(*HeldError)

	mu sync.Mutex
	// first acquires the lock; server is for the next request: later one that is not retried.
	first, server LeaseServer
	// lease is as it was last read or written, at version, which was first seen at since.
	lease    resourcelock.LeaderElectionRecord
	version  string
	since    time.Time
	reported string
	// granted is when the latest renewal that succeeded was sent; zero if the lock is not held.
	// A run that watches the Lease counts its time from then on, or from later.
	granted time.Time
	lost    error
	// news is closed and replaced when the lock is acquired, renewed or lost.
	news chan struct{}

	end  context.CancelCauseFunc // of the election
	done chan struct{}
	lose context.CancelCauseFunc // ends the run

	// was is the note on the run that stated something last, as the Lease had it when this run
	// was not its holder yet; sure: it was written by the run that had the lock last.
	was  string
	sure bool
	// note is the one to be written; empty if this run stated nothing.
	note string
}

// NewLock returns a lock that is not held yet. No two processes have the same holder.
func NewLock(holder, run string) *Lock {
	return &Lock{holder: holder, run: run, who: Caller(), news: make(chan struct{})}
}

// Acquire gets the lock of the set with this parent, and waits for it for that long; it
// reports each holder that is in the way, once. The returned context ends with ctx, or with a
// *LostError when the lock is lost. If it cannot be had in time, the error is a *HeldError.
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
		for electing.Err() == nil { // An election ends at its deadline, an outage later.
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

// age is how long ago the Lease was renewed. The monotonic clock may stop while the machine
// sleeps, and the other one can be set: the greater of both counts.
func (l *Lock) age() time.Duration {
	now := time.Now()
	return max(now.Sub(l.granted), now.Round(0).Sub(l.granted.Round(0)))
}

// Held reports whether the lock was acquired, and neither lost nor released since.
func (l *Lock) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.granted.IsZero()
}

// errNotHeld refuses a write of a run that has no lock, or has given it back.
var errNotHeld = errors.New("the lock of the set is not held")

// Begin is called right before a write is sent. It waits until the Lease was renewed lately
// enough; if the lock is lost, or not held, it returns an error.
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

// wake wakes those who wait for news.
func (l *Lock) wake() {
	close(l.news)
	l.news = make(chan struct{})
}

// loses ends the run and the election, before a write is refused: that one is then not taken
// for one that the server refused.
func (l *Lock) loses(err *LostError) {
	err.set = l.set
	l.lost, l.granted = err, time.Time{}
	l.lose(err)
	l.end(err)
	l.wake()
}

// Release gives the lock back, if it is held. A write that got no answer is not waited for:
// an API server gives it up when its connection ends.
func (l *Lock) Release(ctx context.Context) error {
	if l.end == nil {
		return nil
	}
	l.end(nil)
	<-l.done
	l.end = nil // It is released once.
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
		// A renewal whose answer was lost may have arrived.
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
