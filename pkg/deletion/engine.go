// Package deletion deletes objects in reverse order and watches until they are gone, each bound to
// the UID that was found. Start with [Reverse] and [Engine.Run]. An object that cannot be seen is
// never reported as gone. It does not know why objects are stuck, and prints nothing.
package deletion

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

// Server is what the engine needs of a cluster. Its calls retry what may pass and
// keep the pace that the server allows.
type Server interface {
	watchset.Watcher
	object.Getter
	object.Deleter
	// Permitted reports whether we may do what verb says with the object.
	Permitted(ctx context.Context, kind object.Kind, ref object.Ref, verb string) (bool, error)
	// RemoveFinalizer removes one finalizer from the object at the version that was
	// read.
	RemoveFinalizer(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, finalizer string) (*unstructured.Unstructured, error)
	// ExplainRefusal names the webhook behind the refusal of an object of the kind, where
	// there is one; it returns other errors as they are.
	ExplainRefusal(ctx context.Context, kind object.Kind, err error) error
}

// Counter counts what an object holds that goes before it does: the contents of a
// namespace, the instances of a CRD.
type Counter interface {
	Count(ctx context.Context, live *unstructured.Unstructured) (int, error)
}

// Explainer says why an object that is terminating does not go, the cause that matters most first.
// Unreadable objects are part of the error; the causes that it has found nevertheless count.
type Explainer interface {
	Explain(ctx context.Context, kind object.Kind, live *unstructured.Unstructured) ([]event.Cause, error)
}

const (
	// blindFor is how long there may be nothing but errors before an object counts as
	// unknown.
	blindFor = 5 * time.Minute
	// glance is how long objects are looked for after an outage that was outlived for nothing.
	glance = 2 * time.Second
	// stuckAfter is how long nothing moves before the Explainer is asked why.
	stuckAfter = 15 * time.Second
)

// Engine deletes. Server and Emit are needed; one Engine is for one run.
type Engine struct {
	Server Server
	// First is asked in the place of Server what there is, while there is no outage to
	// outlive; nil asks Server.
	First watchset.Watcher
	// Explainer is asked why objects do not go; nil explains nothing.
	Explainer Explainer
	// Counter counts what objects hold; nil counts nothing.
	Counter Counter

	// Propagation says what becomes of dependents; empty leaves it to the server.
	Propagation metav1.DeletionPropagation
	// GracePeriod in seconds; nil is each object's own.
	GracePeriod *int64
	DryRun      object.DryRun
	// Wait until everything is gone.
	Wait bool
	// IgnoreAbsent makes objects that are not there no failure.
	IgnoreAbsent bool
	// Timeout is how long an object of the kind may take to go; nil, and 0, is as
	// long as it takes.
	Timeout func(object.Kind) time.Duration
	// StuckAfter is how long nothing moves before the Explainer is asked; 0 means
	// 15 seconds.
	StuckAfter time.Duration
	// EndsFor returns how long a cause has to last, while nothing moves, before an object is no
	// longer waited for; 0 if it never ends the wait. Nil ends no wait.
	EndsFor func(event.Cause) time.Duration
	// Finalizer is removed from objects that are terminating, instead of deleting
	// any. Confirm is asked before, once every object was explained.
	Finalizer string
	Confirm   func(ctx context.Context, finalizer string, refs []object.Ref) error
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	mu      sync.Mutex // guards everything below, the views and their targets
	planned bool
	// underway: a deletion was requested, and for its sake an outage is outlived. outlived:
	// one has been, for nothing, and the server has answered nothing since.
	underway, outlived bool
	outcome            Outcome
	// aggregates are the ClusterRoles with an aggregationRule that are gone.
	aggregates []*target
	// pending is how many targets of the phase are not done, explained how many were
	// explained.
	pending, explained int
	// passed: it was said that not all of them are explained.
	passed bool
	// woken tells the wait that there may be something to do.
	woken chan struct{}
	turns chan struct{}  // of explanations
	side  sync.WaitGroup // of counting and explaining
}

// keepsWatch reports whether the engine watches the objects go.
func (e *Engine) keepsWatch() bool { return e.Wait && e.DryRun == object.DryRunNone }

// wake lets the wait look again.
func (e *Engine) wake() {
	select {
	case e.woken <- struct{}{}:
	default: // It is going to.
	}
}

func (e *Engine) stuckAfter() time.Duration {
	if e.StuckAfter > 0 {
		return e.StuckAfter
	}
	return stuckAfter
}

var errPhaseBefore = errors.New("objects that have to be deleted first are still there")

// Run deletes the objects of the phases, one phase after the other. It returns an
// *IncompleteError when not all of them are gone, and ctx's error when it was
// interrupted.
func (e *Engine) Run(ctx context.Context, phases []Phase) error {
	e.woken, e.turns = make(chan struct{}, 1), make(chan struct{}, explainSide)
	if allNamed(phases) {
		e.mu.Lock()
		e.plan(phases)
		e.mu.Unlock()
	}
	var blocked error
	for i, ph := range phases {
		if blocked == nil && ctx.Err() != nil {
			blocked = context.Cause(ctx)
		}
		if blocked != nil {
			e.skipAll(ph, blocked)
			continue
		}
		if !e.phase(ctx, i, ph) {
			blocked = errPhaseBefore
		}
	}
	e.sweep(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.outcome != (Outcome{}) {
		return &IncompleteError{e.outcome}
	}
	return nil
}

// phase deletes the objects of one phase. It returns false if some of them are
// there still, or may be.
func (e *Engine) phase(ctx context.Context, index int, ph Phase) bool {
	watching, stop := context.WithCancel(ctx)
	var views []*view
	var followers sync.WaitGroup
	for _, s := range ph.Sets {
		views = append(views, e.viewsOf(s)...)
	}
	for _, v := range views {
		followers.Go(func() { v.follow(watching) })
	}
	defer e.side.Wait()
	defer followers.Wait()
	defer stop()
	for _, v := range views {
		v.wait(ctx)
	}
	e.mu.Lock()
	e.outlived = e.isDark(views)
	e.mu.Unlock()
	targets := e.settle(index, ph, views)
	if !e.keepsWatch() {
		stop()
	}
	if e.Finalizer != "" {
		e.release(ctx, targets)
	} else {
		e.each(ctx, targets, e.ask)
	}
	if e.keepsWatch() {
		e.await(watching, targets)
	}
	return e.close(ctx, targets)
}

// isDark reports whether an outage has been outlived for nothing, and the server has answered
// no view since. The engine is locked.
func (e *Engine) isDark(views []*view) bool {
	dark := e.outlived
	for _, v := range views {
		if v.synced || v.kindGone || v.ended != nil && !watchset.MayPass(v.ended) {
			return false
		}
		dark = dark || v.ended != nil
	}
	return dark
}

// Outcome counts what kept a run from its end.
type Outcome struct {
	// Remaining, Refused and Unknown are numbers of objects: still there when their time
	// was over, refused by the server, and of unknown fate.
	Remaining, Refused, Unknown int
}

// IncompleteError says that not everything is gone. Events have reported what happened to
// each object.
type IncompleteError struct {
	Outcome
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything is gone: %d still there, %d refused, %d unknown", e.Remaining, e.Refused, e.Unknown)
}

// ErrDeclined is what Confirm returns when the user said no.
var ErrDeclined = errors.New("not confirmed")
