// Package deletion deletes objects in reverse order, each bound to its UID, and watches until they
// are gone. Start with [Reverse] and [Engine.Run]. It never reports an object as gone that it
// cannot see. It does not find out why objects are stuck, and prints nothing.
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

// Server is the part of the API client that the engine needs. Its calls retry and limit their rate.
type Server interface {
	watchset.Watcher
	object.Getter
	object.Deleter
	Permitted(ctx context.Context, kind object.Kind, ref object.Ref, verb string) (bool, error)
	// RemoveFinalizer removes one finalizer from this version of the object.
	RemoveFinalizer(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, finalizer string) (*unstructured.Unstructured, error)
	// ExplainRefusal adds the name of the webhook that refused the object to its error. It returns
	// other errors unchanged.
	ExplainRefusal(ctx context.Context, kind object.Kind, err error) error
}

// Counter counts the objects that must be deleted before a given object: the contents of a
// namespace, or the instances of a CRD.
type Counter interface {
	Count(ctx context.Context, live *unstructured.Unstructured) (int, error)
}

// Explainer explains why a terminating object still exists, the most important cause first. It may
// return causes together with an error about objects that it could not read.
type Explainer interface {
	Explain(ctx context.Context, kind object.Kind, live *unstructured.Unstructured) ([]event.Cause, error)
}

const (
	// blindFor is how long reads may fail before an object's state is unknown.
	blindFor = 5 * time.Minute
	// glance is how long the engine searches for objects after an outage that lasted too long.
	glance = 2 * time.Second
	// stuckAfter is the default of [Engine.StuckAfter].
	stuckAfter = 15 * time.Second
)

// Engine deletes objects. Server and Emit are required. Use an Engine for one Run.
type Engine struct {
	Server Server
	// First replaces Server for listing the objects, before any deletion was requested and after an
	// outage that lasted too long. If it is nil, Server is used.
	First     watchset.Watcher
	Explainer Explainer
	Counter   Counter

	// Propagation decides what happens to dependents; empty leaves it to the server.
	Propagation metav1.DeletionPropagation
	// GracePeriod is the grace period in seconds; nil means that each object's own applies.
	GracePeriod *int64
	DryRun      object.DryRun
	// Wait makes Run wait until all objects are gone.
	Wait         bool
	IgnoreAbsent bool
	// Timeout returns how long the deletion of an object of the kind may take. 0 means no limit,
	// and so does a nil function.
	Timeout func(object.Kind) time.Duration
	// StuckAfter is how long an object must show no progress before the Explainer is called; 0
	// means 15 seconds.
	StuckAfter time.Duration
	// EndsFor returns how long a cause must persist, while the object shows no progress, to end the
	// wait for that object. 0 means that the cause never ends the wait. A nil function means 0 for
	// all causes.
	EndsFor func(event.Cause) time.Duration
	// Finalizer, if set, is removed from terminating objects, and no deletion is requested. Confirm
	// is called before the removal, once every object was explained.
	Finalizer string
	Confirm   func(ctx context.Context, finalizer string, refs []object.Ref) error
	// Emit is called for one event at a time.
	Emit func(event.Event)

	mu      sync.Mutex // guards everything below, the views and their targets
	planned bool
	// underway is set once a deletion was requested: from then on, the engine waits for an outage
	// to end. outlived is set if an outage lasted too long and the server has not answered since.
	underway, outlived bool
	outcome            Outcome
	// aggregates are the deleted ClusterRoles that had an aggregationRule.
	aggregates []*target
	// pending counts the targets of the current phase without a result. explained counts the
	// targets of the phase that were explained.
	pending, explained int
	// passed is set once the user was told that some targets of the phase are not explained.
	passed bool
	woken  chan struct{}
	turns  chan struct{}  // limits concurrent explanations
	side   sync.WaitGroup // counts and explanations in progress
}

// keepsWatch reports whether the engine waits for the objects to go.
func (e *Engine) keepsWatch() bool { return e.Wait && e.DryRun == object.DryRunNone }

func (e *Engine) wake() {
	select {
	case e.woken <- struct{}{}:
	default: // It is awake already.
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

// phase deletes the objects of a phase. It returns false if some of the objects still exist, or may
// exist.
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

// isDark reports whether an outage has lasted too long, and none of the views has received an
// answer since. The engine must be locked.
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
	// Remaining objects still existed when their time was over. Refused objects were refused by the
	// server. Unknown objects may or may not be deleted.
	Remaining, Refused, Unknown int
}

// IncompleteError is the error of a run that did not delete all objects. The events have reported
// each of these objects.
type IncompleteError struct {
	Outcome
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything was deleted: %d still there, %d refused, %d unknown", e.Remaining, e.Refused, e.Unknown)
}

// ErrDeclined is Confirm's error if the user declines.
var ErrDeclined = errors.New("not confirmed")
