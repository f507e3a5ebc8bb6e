package deletion

import (
	"context"
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
// namespace, the instances of a definition.
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
