package deletion

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/observe"
)

// Server is what the engine needs of a cluster. Its calls retry what may pass and
// keep the pace that the server allows.
type Server interface {
	observe.Watcher
	// Delete deletes the object that how.UID means, and returns it as it is then;
	// nil if it is gone.
	Delete(ctx context.Context, kind object.Kind, ref object.Ref, how object.Deletion) (*unstructured.Unstructured, error)
	// Get reads one object.
	Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error)
	// Permitted reports whether we may do what verb says with the object.
	Permitted(ctx context.Context, kind object.Kind, ref object.Ref, verb string) (bool, error)
	// RemoveFinalizer removes one finalizer from the object at the version that was
	// read.
	RemoveFinalizer(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, finalizer string) (*unstructured.Unstructured, error)
}

// Counter counts what an object holds that goes before it does: the contents of a
// namespace, the instances of a definition.
type Counter interface {
	Count(ctx context.Context, live *unstructured.Unstructured) (int, error)
}

// Explainer says why an object that is terminating does not go, the cause that
// matters most first. What it could not read is part of the error; the causes that
// it has found nevertheless count.
type Explainer interface {
	Explain(ctx context.Context, kind object.Kind, live *unstructured.Unstructured) ([]event.Cause, error)
}

const (
	// blindFor is how long nothing but errors may come before nobody can tell any
	// more.
	blindFor = 5 * time.Minute
	// stuckAfter is how long nothing moves before somebody is asked why.
	stuckAfter = 15 * time.Second
)

// Engine deletes. Server and Emit are needed; one Engine is for one run.
type Engine struct {
	Server Server
	// First is asked in the place of Server what there is, before anything is asked for;
	// nil asks Server.
	First observe.Watcher
	// Explainer is asked why objects do not go; nil asks nobody.
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
	// Finalizer is removed from objects that are terminating, instead of deleting
	// any. Confirm is asked before, once every object was explained.
	Finalizer string
	Confirm   func(ctx context.Context, finalizer string, refs []object.Ref) error
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	mu      sync.Mutex // guards everything below, the views and their targets
	planned bool
	// begun: something may have been asked for.
	begun   bool
	outcome Outcome
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

// Outcome counts what kept a run from its end.
type Outcome struct {
	// Remaining, Refused and Unknown are numbers of objects: still there when their
	// time was over, refused by the server, and those of which nobody can tell.
	Remaining, Refused, Unknown int
}

// IncompleteError says that not everything is gone. What happened to each object
// was told by events.
type IncompleteError struct {
	Outcome
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything is gone: %d still there, %d refused, %d unknown", e.Remaining, e.Refused, e.Unknown)
}

var errPhaseBefore = errors.New("objects that go before it are still there")

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
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e.outcome != (Outcome{}) {
		return &IncompleteError{e.outcome}
	}
	return nil
}

// plan says what is going to be deleted. Of a selection that is known when it was
// found.
func (e *Engine) plan(phases []Phase) {
	e.planned = true
	planned := event.Planned{Phases: make([]event.Phase, len(phases))}
	for i, ph := range phases {
		refs := ph.refs()
		planned.Phases[i] = event.Phase{Name: ph.Name, Total: len(refs), Refs: refs}
	}
	e.Emit(planned)
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
	e.begun = true
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

// keepsWatch reports whether anybody wants to see the objects go.
func (e *Engine) keepsWatch() bool { return e.Wait && e.DryRun == object.DryRunNone }

// each runs do for all targets side by side. The server's client keeps the pace,
// so the bound here only limits memory.
func (e *Engine) each(ctx context.Context, targets []*target, do func(context.Context, *target)) {
	const side = 256
	var g errgroup.Group
	g.SetLimit(side)
	for _, t := range targets {
		g.Go(func() error {
			if ctx.Err() == nil {
				do(ctx, t)
			}
			return nil
		})
	}
	_ = g.Wait() // do reports by events, never by an error
}

// wake lets the wait look again.
func (e *Engine) wake() {
	select {
	case e.woken <- struct{}{}:
	default: // It is going to.
	}
}
