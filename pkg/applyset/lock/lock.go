package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/pause"
)

// Store is the Lease of one set. Its errors ErrAbsent and ErrChanged are answers;
// after any other error, a write may or may not have arrived.
type Store interface {
	// Read returns the Lease, or ErrAbsent.
	Read(ctx context.Context) (Record, error)
	// Create creates the Lease, or returns ErrChanged if it exists.
	Create(ctx context.Context, lease Record) (Record, error)
	// Replace changes the Lease if it is at the record's version; if not, it returns
	// ErrChanged, or ErrAbsent.
	Replace(ctx context.Context, lease Record) (Record, error)
}

// What a Store says.
var (
	ErrAbsent  = errors.New("there is no such Lease")
	ErrChanged = errors.New("the Lease has changed")
)

// attempt bounds one request of a renewal: a request that hangs must not use up the
// remaining time.
const attempt = 5 * time.Second

// goodbye bounds the release.
const goodbye = 3 * time.Second

// Lock is the lock of one set, as one run sees it.
type Lock struct {
	terms Terms
	now   func() Moment

	mu      sync.Mutex
	machine *Machine
	// set is what the set is called.
	set string
	// news is closed and replaced when the lock is renewed or lost.
	news chan struct{}
	// wake has a token when the Lease is to be renewed at once.
	wake chan struct{}
	// open counts the writes in progress. doubtful is the time until which a write that
	// ended without an answer may still arrive.
	open     int
	doubtful time.Duration
	failure  error // result of the latest renewal

	stop context.CancelFunc
	done chan struct{}
	lose context.CancelCauseFunc
}

// New returns a lock that is not held yet.
func New(me Identity, terms Terms) *Lock {
	return &Lock{
		terms: terms, now: clock(), machine: NewMachine(me, terms),
		news: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// Name says what the set is called, for errors. It has to be called before Acquire.
func (l *Lock) Name(set string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set = set
}

// Acquire gets the lock, and waits for it for that long; it reports each holder that is
// in the way, once. Renewals have a store of their own: they neither wait for their turn
// behind other requests, nor are retried for longer than they are useful.
//
// The returned context ends with ctx, or with a *LostError when the lock is lost; from
// then on, no request that asks Begin is sent. The lock has to be released. If it cannot
// be had in time, the error is a *HeldError.
func (l *Lock) Acquire(ctx context.Context, acquire, renew Store, within time.Duration, tell func(HeldError)) (context.Context, error) {
	began := l.now().Mono
	told := ""
	for {
		move, held := l.next(), HeldError{}
		switch move.Step {
		case Rest:
			held = l.inTheWay(began)
			if left := within - held.Waited; left <= 0 {
				return nil, &held
			} else if held.Lease.Holder != told && tell != nil {
				told = held.Lease.Holder
				tell(held)
			}
			if err := pause.For(ctx, min(move.In, max(within-held.Waited, time.Millisecond))); err != nil {
				return nil, err
			}
		case End:
			return nil, ErrNotHeld
		default:
			if err := l.perform(ctx, acquire, move); err != nil {
				return nil, err
			}
		}
		if l.Held() {
			return l.keep(ctx, renew), nil
		}
	}
}

// inTheWay describes the Lease that is waited for.
func (l *Lock) inTheWay(began time.Duration) HeldError {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	held := HeldError{Waited: now.Mono - began}
	lease, unchanged := l.machine.Seen(now)
	if lease != nil {
		held.Lease = *lease
		held.Left = max(0, l.machine.validity()-unchanged)
	}
	return held
}

func (l *Lock) next() Move {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.machine.Next(l.now())
}

// perform makes a move, and passes on its outcome. It returns an error that ends the
// attempt to get the lock: the server declined, or was away for as long as its client
// waits.
func (l *Lock) perform(ctx context.Context, store Store, move Move) error {
	var lease Record
	var err error
	switch move.Step {
	case Read:
		lease, err = store.Read(ctx)
	case Create:
		lease, err = store.Create(ctx, move.Record)
	default:
		lease, err = store.Replace(ctx, move.Record)
	}
	what := Silent
	switch {
	case err == nil:
		what = Done
	case errors.Is(err, ErrAbsent):
		what = Absent
	case errors.Is(err, ErrChanged):
		what = Changed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.machine.Heard(l.now(), what, lease)
	if what == Silent {
		l.failure = err
		return err
	}
	return nil
}

// keep renews the Lease beside the run, until the lock is lost or released: also after
// the run was interrupted, for its last writes.
func (l *Lock) keep(ctx context.Context, store Store) context.Context {
	held, lose := context.WithCancelCause(ctx)
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop, l.lose, l.done = stop, lose, make(chan struct{})
	go func() {
		defer close(l.done)
		for keeping.Err() == nil {
			move := l.next()
			switch move.Step {
			case End:
				l.lost()
				l.tell()
				return
			case Rest:
				l.rest(keeping, move.In)
			default:
				one, cancel := context.WithTimeout(keeping, attempt)
				_ = l.perform(one, store, move) // It is tried again.
				cancel()
				l.tell()
			}
		}
	}()
	return held
}

func (l *Lock) rest(ctx context.Context, in time.Duration) {
	timer := time.NewTimer(in)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-l.wake:
	}
}

// tell wakes the goroutines that wait for a renewal.
func (l *Lock) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.news)
	l.news = make(chan struct{})
}

// lost ends the run, before anything else learns of it, so that a write which is refused
// from now on is not taken for one that the server refused.
func (l *Lock) lost() {
	l.mu.Lock()
	err := l.machine.Lost()
	if gone, ok := errors.AsType[*LostError](err); ok && gone.Set == "" {
		gone.Set = l.set
		if gone.Reason == NotRenewed {
			gone.Err = l.failure
		}
	}
	l.mu.Unlock()
	l.lose(err)
}

// Held reports whether the lock was acquired, and neither lost nor released since.
func (l *Lock) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.machine.Holds()
}

// Begin is called right before a write is sent. It returns how long the server may take
// for it. If the Lease is too old, it waits until the Lease is renewed; if the lock is
// lost, or not held, it returns an error.
//
// ended has to be called when the write is over: with true if the server has answered, so
// that it does nothing more about it.
func (l *Lock) Begin(ctx context.Context) (within time.Duration, ended func(answered bool), err error) {
	for {
		l.mu.Lock()
		now := l.now()
		within, ok := l.machine.Left(now)
		held, lost, news := l.machine.Holds(), l.machine.Lost(), l.news
		if ok {
			l.open++
		}
		l.mu.Unlock()
		switch {
		case ok:
			return within, func(answered bool) { l.ended(answered, now.Mono+within+l.terms.Slack) }, nil
		case lost != nil:
			l.lost()
			return 0, nil, lost
		case !held:
			return 0, nil, ErrNotHeld
		}
		select {
		case l.wake <- struct{}{}:
		default:
		}
		select {
		case <-news:
		case <-ctx.Done():
			return 0, nil, context.Cause(ctx)
		}
	}
}

func (l *Lock) ended(answered bool, until time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if !answered {
		l.doubtful = max(l.doubtful, until)
	}
}

// Fresh reports whether a write that has begun may still be sent: it may have waited for
// a connection since.
func (l *Lock) Fresh() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.machine.Left(l.now())
	return ok
}

// Failure returns what came in place of the latest answer, nil if the lock was released and
// nothing was sent for it.
func (l *Lock) Failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// Release gives the lock back, if it is held. It reports whether others can have it at
// once: if a write may still arrive at the server, or the server does not answer or does not
// accept it, the Lease is left to run out. [Lock.Failure] says why.
func (l *Lock) Release(ctx context.Context, store Store) bool {
	if l.stop == nil {
		return true
	}
	l.stop()
	<-l.done
	l.stop = nil
	defer l.lose(nil)
	l.mu.Lock()
	l.machine.Release(l.open == 0 && l.now().Mono >= l.doubtful)
	l.failure = nil
	l.mu.Unlock()
	defer l.tell()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	for {
		move := l.next()
		if move.Step == End {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.machine.Freed()
		}
		_ = l.perform(ctx, store, move) // The machine handles the outcome.
	}
}
