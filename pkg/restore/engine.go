package restore

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// Server is the part of the API client that the engine needs.
type Server interface {
	object.Applier
	SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error)
}

// Engine rolls back the writes of a run. Server, Remove and Emit are required.
type Engine struct {
	Server  Server
	Manager string
	// Remove deletes the object with the UID, and returns once it is gone. The callback (stays)
	// returns the reason to keep the version that is about to be deleted, or "" if there is none.
	Remove func(ctx context.Context, kind object.Kind, ref object.Ref, uid types.UID, stays func(*unstructured.Unstructured) string) error
	// Contents visits the objects that are deleted along with an object, such as those in a
	// namespace. A created object is kept if others have put objects into it. Contents may be nil.
	Contents func(ctx context.Context, live *unstructured.Unstructured, visit func(*unstructured.Unstructured)) error
	// Emit is called for each event, one at a time.
	Emit func(event.Event)

	mu                   sync.Mutex
	kept, partly, failed int
}

// IncompleteError counts the objects that were not fully rolled back. An event has reported each of
// them.
type IncompleteError struct {
	// Partly counts the objects whose values have been restored, but whose owners have not all been
	// restored.
	Kept, Partly, Failed int
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("not everything was rolled back: %d kept, %d without all previous owners, %d failed", e.Kept, e.Partly, e.Failed)
}

// Run rolls back the groups one after another. It returns an *IncompleteError if some objects were
// not rolled back.
func (e *Engine) Run(ctx context.Context, groups [][]Note) error {
	for _, group := range groups {
		const side = 32
		var g errgroup.Group
		g.SetLimit(side)
		for _, n := range group {
			g.Go(func() error {
				e.restore(ctx, n)
				return nil
			})
		}
		_ = g.Wait()
	}
	if e.kept+e.partly+e.failed > 0 {
		return &IncompleteError{Kept: e.kept, Partly: e.partly, Failed: e.failed}
	}
	return nil
}

// restore decides again after each conflict, because another client's write can change the decision. A
// conflict of field managers is final: restoring never takes fields.
func (e *Engine) restore(ctx context.Context, n Note) {
	if ctx.Err() != nil {
		e.fail(ctx, n, context.Cause(ctx))
		return
	}
	for attempts := retry.At(n.Ref); ; {
		live, err := e.live(ctx, n)
		if err != nil {
			e.fail(ctx, n, err)
			return
		}
		attempts.OnRead(live)
		step, err := Decide(n, live, e.Manager)
		if err != nil {
			e.fail(ctx, n, err)
			return
		}
		if n.Pruned && step.Do == Nothing && live != nil {
			return
		}
		out, err := e.carryOut(ctx, &n, live, step)
		switch {
		case err == nil:
			out.Ref, out.Left = n.Ref, step.Left
			e.report(out)
			return
		case !apierrors.IsConflict(err), apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
			e.fail(ctx, n, err)
			return
		}
		if n.valued {
			attempts.OnWritten(n.After)
		}
		if err := attempts.Again(ctx); err != nil {
			e.fail(ctx, n, err)
			return
		}
	}
}

func (e *Engine) live(ctx context.Context, n Note) (*unstructured.Unstructured, error) {
	live, err := e.Server.Get(ctx, n.Kind, n.Ref)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// carryOut carries out a step. It returns a conflict if the object has changed since the decision.
func (e *Engine) carryOut(ctx context.Context, n *Note, live *unstructured.Unstructured, step Step) (event.RolledBack, error) {
	switch step.Do {
	case Nothing:
		if live == nil {
			return event.RolledBack{Action: event.Gone}, nil
		}
		return event.RolledBack{Action: event.Restored}, nil
	case Keep:
		return event.RolledBack{Action: event.Kept, Reason: step.Why}, nil
	case Delete:
		if why := e.holds(ctx, live); why != "" {
			return event.RolledBack{Action: event.Kept, Reason: why}, nil
		}
		kept, err := e.remove(ctx, n, step.UID)
		if kept != "" {
			return event.RolledBack{Action: event.Kept, Reason: kept}, nil
		}
		return event.RolledBack{Action: event.Gone}, err
	case Create:
		if step.UID != "" {
			kept, err := e.remove(ctx, n, step.UID)
			if kept != "" {
				return event.RolledBack{Action: event.Kept, Reason: kept}, nil
			}
			if err != nil {
				return event.RolledBack{}, err
			}
		}
		_, err := e.Server.Apply(ctx, n.Kind, step.Body, object.Write{Manager: e.Manager, Create: true})
		return event.RolledBack{Action: event.Restored, Reason: "as a new object, without the fields that others owned"}, err
	default:
		unreturned, err := e.putBack(ctx, n, step)
		return event.RolledBack{Action: event.Restored, Unreturned: unreturned}, err
	}
}

// remove deletes an object that the run created, or returns the reason to keep it.
func (e *Engine) remove(ctx context.Context, n *Note, uid types.UID) (kept string, err error) {
	err = e.Remove(ctx, n.Kind, n.Ref, uid, func(live *unstructured.Unstructured) string {
		again, err := Decide(*n, live, e.Manager)
		if kept = again.Why; err != nil {
			kept = err.Error()
		}
		return kept
	})
	return kept, err
}

// putBack restores values, then owners. It returns the fields that remain with their current
// owners.
func (e *Engine) putBack(ctx context.Context, n *Note, step Step) ([]event.Unreturned, error) {
	answer, err := e.Server.Apply(ctx, n.Kind, step.Body, object.Write{Manager: e.Manager})
	if err != nil {
		return nil, err
	}
	n.After, n.valued = answer, true
	fields, unreturned, err := step.Owners(answer)
	if err != nil || fields == nil {
		return unreturned, err
	}
	_, err = e.Server.SetManagedFields(ctx, n.Kind, answer, fields)
	return unreturned, err
}

func (e *Engine) fail(ctx context.Context, n Note, err error) {
	e.report(event.RolledBack{Ref: n.Ref, Action: event.Failed, Reason: e.found(ctx, n), Err: redact.Refusal(n.Ref, err)})
}

func (e *Engine) found(ctx context.Context, n Note) string {
	if ctx.Err() != nil {
		return notLookedAt
	}
	live, err := e.live(ctx, n)
	if err != nil {
		return unknownNow
	}
	return n.found(live)
}

func (e *Engine) report(out event.RolledBack) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch out.Action { //nolint:exhaustive // the other actions are successes
	case event.Kept:
		e.kept++
	case event.Failed:
		e.failed++
	case event.Restored:
		if len(out.Unreturned) > 0 {
			e.partly++
		}
	}
	e.Emit(out)
}
