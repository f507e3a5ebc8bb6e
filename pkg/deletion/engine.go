// Package deletion deletes objects in reverse order, each bound to its UID, and watches until they
// are gone. It never reports an object as gone merely because it cannot see the object. It does not
// explain stuck objects, and prints nothing. Start with [Reverse] and [Engine.Run].
package deletion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/watchset"
)

// Server is the part of the API client that the engine needs. Its methods retry requests and limit
// their rate.
type Server interface {
	watchset.Watcher
	object.Getter
	object.Deleter
	Permitted(ctx context.Context, kind object.Kind, ref object.Ref, verb string) (bool, error)
	RemoveFinalizer(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, finalizer string) (*unstructured.Unstructured, error)
	// ExplainRefusal adds the name of the webhook that refused the object. It returns other errors
	// unchanged.
	ExplainRefusal(ctx context.Context, kind object.Kind, err error) error
}

// Counter counts the contents of a namespace, or the instances of a CRD.
type Counter interface {
	Count(ctx context.Context, live *unstructured.Unstructured) (int, error)
}

// Explainer explains why a terminating object still exists, with the most important cause first. It
// may return causes together with an error.
type Explainer interface {
	Explain(ctx context.Context, kind object.Kind, live *unstructured.Unstructured) ([]event.Cause, error)
}

const (
	// blindFor is how long reads may fail before an object's state counts as unknown.
	blindFor = 5 * time.Minute
	// glance is how long the engine searches for objects after an outage that lasted too long.
	glance     = 2 * time.Second
	stuckAfter = 15 * time.Second
)

// Engine deletes objects. Server and Emit are required. Each Engine is for one Run.
type Engine struct {
	Server Server
	// First, if not nil, is used instead of Server to list the objects before the first deletion,
	// and after an outage that lasted too long.
	First watchset.Watcher
	// WorthAcross reports whether one watch of a kind across all namespaces is less work than n
	// watches; nil means that it never is.
	WorthAcross func(ctx context.Context, kind object.Kind, n int) bool
	Explainer   Explainer
	Counter     Counter

	// Propagation is the deletion policy; if it is empty, the server decides.
	Propagation metav1.DeletionPropagation
	// GracePeriod is in seconds; nil means each object's own grace period.
	GracePeriod *int64
	DryRun      object.DryRun
	// Wait makes Run wait until all objects are gone.
	Wait         bool
	IgnoreAbsent bool
	// Timeout returns how long the deletion of an object may take; 0 or a nil function means no
	// limit.
	Timeout func(object.Kind) time.Duration
	// StuckAfter is the time without progress after which an object is explained; 0 means 15
	// seconds.
	StuckAfter time.Duration
	// EndsFor returns how long a cause must last, without progress, to end the wait for its object;
	// 0 or a nil function means never.
	EndsFor func(event.Cause) time.Duration
	// Finalizer, if set, is removed from terminating objects, and nothing is deleted. Confirm is
	// called first, once every object has been explained.
	Finalizer string
	Confirm   func(ctx context.Context, finalizer string, refs []object.Ref) error
	// Admit is called with each object that would be deleted; an error refuses its deletion. It must
	// not block. Admitted is called before the first deletion of a phase. Both may be nil.
	Admit    func(ref object.Ref, live *unstructured.Unstructured) error
	Admitted func()
	// Emit is called for one event at a time.
	Emit func(event.Event)

	mu      sync.Mutex // guards everything below, the views and their targets
	planned bool
	// underway is set once a deletion has been requested. From then on, the engine waits for
	// outages to end. outlived is set if an outage lasted too long and the server has not answered
	// since.
	underway, outlived bool
	outcome            Outcome
	aggregates         []*target
	pending, explained int
	// passed is set once the user knows that some targets of the phase are not explained.
	passed bool
	// counts is set if few enough namespaces and CRDs are left to count their contents.
	counts bool
	// wentAt is when the last namespace or CRD was gone.
	wentAt time.Time
	woken  chan struct{}
	turns  chan struct{}  // limits concurrent explanations
	side   sync.WaitGroup // counts and explanations in progress
}

func (e *Engine) keepsWatch() bool { return e.Wait && e.DryRun == object.DryRunNone }

func (e *Engine) wake() {
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

func (e *Engine) stuckAfter() time.Duration {
	if e.StuckAfter > 0 {
		return e.StuckAfter
	}
	return stuckAfter
}

var errPhaseBefore = errors.New("objects that must be deleted first are still there")

// Run deletes the objects phase by phase. It returns an *IncompleteError if some are not gone, and
// ctx's error after an interrupt.
func (e *Engine) Run(ctx context.Context, phases []Phase) error {
	e.woken, e.turns = make(chan struct{}, 1), make(chan struct{}, explainSide)
	open := func(s Set) bool { return s.Items == nil }
	if !slices.ContainsFunc(phases, func(ph Phase) bool { return slices.ContainsFunc(ph.Sets, open) }) {
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

// phase runs one phase. It returns false if some of the phase's objects still exist, or may exist.
func (e *Engine) phase(ctx context.Context, index int, ph Phase) bool {
	watching, stop := context.WithCancel(ctx)
	var views []*view
	var followers sync.WaitGroup
	for _, s := range ph.Sets {
		views = append(views, e.viewsOf(s)...)
	}
	e.share(views)
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
	if e.Admitted != nil {
		e.Admitted()
	}
	if !e.keepsWatch() {
		stop()
	}
	if e.Finalizer != "" {
		e.release(ctx, targets)
	} else {
		e.concurrently(ctx, targets, e.requestDeletion)
	}
	if e.keepsWatch() {
		e.await(watching, targets)
	}
	return e.close(ctx, targets)
}

// isDark reports whether an outage has lasted too long, and no view has received a response since.
// The engine must be locked.
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
	// Remaining counts the objects that still existed when the engine stopped waiting, or when the
	// user declined. Refused counts the objects that did not exist, whose request the server
	// refused, or whose finalizer must not be removed. Unknown counts the objects that may or may
	// not have been deleted, and the lists that could not be read.
	Remaining, Refused, Unknown int
}

// IncompleteError says that not all objects were deleted. The events have reported each of them.
type IncompleteError struct {
	Outcome
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything was deleted: %d still there, %d refused, %d unknown", e.Remaining, e.Refused, e.Unknown)
}

// Undetermined reports whether the result of some object is unknown.
func (e *IncompleteError) Undetermined() bool { return e.Unknown > 0 }

// ErrDeclined is Confirm's error if the user declines.
var ErrDeclined = errors.New("not confirmed")
