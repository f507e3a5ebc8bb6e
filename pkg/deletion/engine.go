// Package deletion deletes objects in reverse order, each bound to its UID, and watches until they
// are gone. Start with [Reverse] and [Engine.Run]. It never reports an object as gone that it
// cannot see. It does not know why objects are stuck, and prints nothing.
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

// Server is the part of the API client that the engine needs. Its calls retry and limit their own
// rate.
type Server interface {
	watchset.Watcher
	object.Getter
	object.Deleter
	// Permitted reports whether we may use the verb on the object.
	Permitted(ctx context.Context, kind object.Kind, ref object.Ref, verb string) (bool, error)
	// RemoveFinalizer removes one finalizer from the object at the version that was read.
	RemoveFinalizer(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, finalizer string) (*unstructured.Unstructured, error)
	// ExplainRefusal names the webhook that refused an object of the kind; it returns other errors
	// unchanged.
	ExplainRefusal(ctx context.Context, kind object.Kind, err error) error
}

// Counter counts the objects that have to go before an object: the contents of a namespace, the
// instances of a CRD.
type Counter interface {
	Count(ctx context.Context, live *unstructured.Unstructured) (int, error)
}

// Explainer returns why a terminating object does not go, the most important cause first. An error
// about unreadable objects may come with causes that were found nevertheless.
type Explainer interface {
	Explain(ctx context.Context, kind object.Kind, live *unstructured.Unstructured) ([]event.Cause, error)
}

const (
	// blindFor is how long reads may fail before an object counts as unknown.
	blindFor = 5 * time.Minute
	// glance is how long objects are looked for once an outage has lasted too long.
	glance = 2 * time.Second
	// stuckAfter is how long nothing moves before the Explainer is called.
	stuckAfter = 15 * time.Second
)

// Engine deletes in one run. Server and Emit are required.
type Engine struct {
	Server Server
	// First lists the objects instead of Server while there is no outage to outlive; nil uses
	// Server.
	First watchset.Watcher
	// Explainer explains stuck objects; nil explains nothing.
	Explainer Explainer
	// Counter counts the contents of objects; nil counts nothing.
	Counter Counter

	// Propagation decides about dependents; empty leaves it to the server.
	Propagation metav1.DeletionPropagation
	// GracePeriod is in seconds; nil means each object's own.
	GracePeriod *int64
	DryRun      object.DryRun
	// Wait waits until everything is gone.
	Wait bool
	// IgnoreAbsent makes a missing object no failure.
	IgnoreAbsent bool
	// Timeout is how long an object of the kind may take to go; nil, or 0, sets no limit.
	Timeout func(object.Kind) time.Duration
	// StuckAfter is how long nothing moves before the Explainer is called; 0 means 15 seconds.
	StuckAfter time.Duration
	// EndsFor returns how long a cause has to last, while nothing moves, to end the wait for an
	// object; 0 if it never does. Nil ends no wait.
	EndsFor func(event.Cause) time.Duration
	// Finalizer is removed from terminating objects, instead of deleting any. Confirm is called
	// first, once every object was explained.
	Finalizer string
	Confirm   func(ctx context.Context, finalizer string, refs []object.Ref) error
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	mu      sync.Mutex // guards everything below, the views and their targets
	planned bool
	// underway: a deletion was requested, so that outages are outlived. outlived: one lasted too
	// long, and the server has not answered since.
	underway, outlived bool
	outcome            Outcome
	// aggregates are the ClusterRoles with an aggregationRule that are gone.
	aggregates []*target
	// pending counts the targets of the phase that are not done, explained those that were
	// explained.
	pending, explained int
	// passed: it was reported that some are not explained.
	passed bool
	// woken wakes the wait.
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
	default: // It will look.
	}
}

func (e *Engine) stuckAfter() time.Duration {
	if e.StuckAfter > 0 {
		return e.StuckAfter
	}
	return stuckAfter
}

var errPhaseBefore = errors.New("objects that have to be deleted first are still there")

// Run deletes the objects phase by phase. It returns an *IncompleteError if some are not gone, and
// ctx's error if it was interrupted.
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

// phase deletes the objects of one phase. It returns false if some of them are, or may be, still
// there.
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

// isDark reports whether an outage has lasted too long and the server has answered no view since.
// The engine is locked.
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

// Outcome counts the objects that were not deleted.
type Outcome struct {
	// Remaining, Refused and Unknown count the objects that were still there after their time, were
	// refused by the server, or have an unknown outcome.
	Remaining, Refused, Unknown int
}

// IncompleteError says that some objects are not gone. The events have reported each.
type IncompleteError struct {
	Outcome
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything is gone: %d still there, %d refused, %d unknown", e.Remaining, e.Refused, e.Unknown)
}

// ErrDeclined is Confirm's error if the user said no.
var ErrDeclined = errors.New("not confirmed")
