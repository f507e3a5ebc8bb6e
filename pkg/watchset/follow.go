package watchset

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Follow reports changes until ctx ends or no more changes can be seen, and returns the reason.
// Calls to tell do not overlap. Follow may report objects that were not requested, because one
// watch serves a whole namespace.
//
// A view with Patience fails with a *[BlindError]. It reports a kind as not served only after a
// second try, because a server that is just starting may not know the kind yet. If the server fails
// to answer, the view makes no such report, because the kind may still be served.
func (v *View) Follow(ctx context.Context, report func(object.Change)) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	defer func() {
		v.mu.Lock()
		v.blind.end()
		v.mu.Unlock()
	}()
	pauses := wait.Backoff{Duration: time.Second, Factor: 1.5, Jitter: 0.2, Steps: 100, Cap: 10 * time.Second}
	missing := false
	for {
		err := v.watch(ctx, giveUp, report)
		unserved := meta.IsNoMatchError(err)
		lacks := unserved && (v.isFirst() || !object.IsUnanswered(err))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case v.Patience == 0, !MayPass(err), missing && lacks, !unserved && v.isFirst():
			return err
		case !lacks:
			v.receive(object.Unreadable{Err: err}, giveUp, report)
		}
		missing = lacks
		if err := retry.For(ctx, pauses.Step()); err != nil {
			return context.Cause(ctx)
		}
	}
}

// MayPass reports whether another watch may succeed after the error; false for a refusal.
func MayPass(err error) bool {
	return !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsMethodNotSupported(err) &&
		!apierrors.IsBadRequest(err) && !apierrors.IsNotFound(err)
}

// List reports the existing objects and then returns nil, without watching for changes.
func (v *View) List(ctx context.Context, report func(object.Change)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	all := false
	err := v.watch(ctx, end, func(c object.Change) {
		report(c)
		if _, all = c.(object.Synced); all {
			end(nil)
		}
	})
	switch {
	case all:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

func (v *View) isFirst() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.First != nil && !v.seen
}

func (v *View) watch(ctx context.Context, giveUp context.CancelCauseFunc, report func(object.Change)) error {
	v.begin()
	server := v.Server
	if v.isFirst() {
		server = v.First
	}
	return server.Watch(ctx, v.Kind, v.selection(), func(change object.Change) {
		if ctx.Err() == nil { // An interrupt is not a failure.
			v.receive(change, giveUp, report)
		}
	})
}

// BlindError ends a view whose reads have failed for so long that its objects' state is unknown
// (edge case 57).
type BlindError struct {
	// For is how long reads failed, and Err is the last error.
	For      time.Duration
	Failures int
	Err      error
}

func (e *BlindError) Error() string {
	return fmt.Sprintf("could not be read for %s (%d errors); last error: %v", e.For.Round(time.Second), e.Failures, e.Err)
}

func (e *BlindError) Unwrap() error { return e.Err }

// Unreachable marks this as an error that says nothing about the object.
func (e *BlindError) Unreachable() bool { return true }

type blindness struct {
	failures int // 0: reads succeed
	last     error
	fuse     *time.Timer
}

func (b *blindness) end() {
	if b.fuse != nil {
		b.fuse.Stop()
	}
	*b = blindness{}
}

// add records an error. It arranges for giveUp to be called once patience has passed since the
// first error without a successful read, unless patience is 0. The caller must hold lock, which
// guards b.
func (b *blindness) add(err error, patience time.Duration, lock sync.Locker, giveUp context.CancelCauseFunc) {
	b.failures++
	b.last = err
	if patience == 0 || b.fuse != nil {
		return
	}
	var fuse *time.Timer
	fuse = time.AfterFunc(patience, func() {
		lock.Lock()
		defer lock.Unlock()
		if b.fuse == fuse {
			giveUp(&BlindError{For: patience, Failures: b.failures, Err: b.last})
		}
	})
	b.fuse = fuse
}
