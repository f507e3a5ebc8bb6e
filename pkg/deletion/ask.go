package deletion

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// requestDeletion binds the request to the object that was read. After a conflict it reads the object again
// and decides anew, because the change may forbid the deletion.
func (e *Engine) requestDeletion(ctx context.Context, t *target) {
	if !e.begin(t) {
		return
	}
	if t.unseen {
		e.askUnseen(ctx, t)
		return
	}
	e.mu.Lock()
	live := t.seen
	t.seen = nil
	e.mu.Unlock()
	if e.DryRun == object.DryRunClient {
		if e.goesAt(t, live, &object.Deletion{}) {
			e.reportEnd(t, event.Deleted{Action: event.Gone})
		}
		return
	}
	how := object.Deletion{
		UID: t.uid, Propagation: e.Propagation, GracePeriod: e.GracePeriod, DryRun: e.DryRun == object.DryRunServer,
	}
	for attempts := retry.At(t.Ref); ; {
		attempts.OnRead(live)
		if !e.goesAt(t, live, &how) {
			return
		}
		left, err := e.Server.Delete(ctx, *t.kind, t.Ref, how)
		switch {
		case err == nil:
			e.accepted(t, left)
			return
		case apierrors.IsNotFound(err), isUnserved(err):
			e.reportEnd(t, event.Deleted{Action: event.Gone})
			return
		case object.MayBeWritten(err) && ctx.Err() == nil:
			e.settleLost(ctx, t, err)
			return
		case !apierrors.IsConflict(err):
			e.fail(ctx, t, "delete", err)
			return
		}
		if err := attempts.Again(ctx); err != nil {
			e.fail(ctx, t, "delete", err)
			return
		}
		if live = e.liveTarget(ctx, t); live == nil {
			return
		}
	}
}

// goesAt reports whether to delete this version of the object, and binds the deletion to it. If
// Stays returns a reason to keep the object, goesAt reports the target as Kept. If Stays is nil,
// the deletion is not bound to the version.
func (e *Engine) goesAt(t *target, live *unstructured.Unstructured, how *object.Deletion) bool {
	if t.Stays == nil || live == nil {
		return true
	}
	if why := t.Stays(live); why != "" {
		e.reportEnd(t, event.Deleted{Action: event.Kept, Reason: why})
		return false
	}
	how.ResourceVersion = live.GetResourceVersion()
	return true
}

func (e *Engine) settleLost(ctx context.Context, t *target, err error) {
	live, readErr := e.Server.Get(ctx, *t.kind, t.Ref)
	switch {
	case apierrors.IsNotFound(readErr), isUnserved(readErr):
		e.reportEnd(t, event.Deleted{Action: event.Gone})
	case readErr == nil && live.GetUID() != t.uid:
		e.reportEnd(t, event.Deleted{Action: event.Gone, Reason: otherNow})
	case readErr == nil && live.GetDeletionTimestamp() != nil:
		e.accepted(t, live)
	default:
		e.fail(ctx, t, "delete", fmt.Errorf("it is unknown whether its deletion was accepted: %w", err))
	}
}

func (e *Engine) begin(t *target) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.done || !t.found && !t.unseen {
		return false
	}
	e.underway = e.underway || e.DryRun == object.DryRunNone
	started := event.Started{Ref: t.Ref}
	if e.Timeout != nil && e.keepsWatch() {
		started.Within = max(0, e.Timeout(*t.kind))
	}
	e.Emit(started)
	return true
}

func (e *Engine) liveTarget(ctx context.Context, t *target) *unstructured.Unstructured {
	live, err := e.Server.Get(ctx, *t.kind, t.Ref)
	switch {
	case apierrors.IsNotFound(err), isUnserved(err):
		e.reportEnd(t, event.Deleted{Action: event.Gone})
	case err != nil:
		e.fail(ctx, t, "get", err)
	case live.GetUID() != t.uid:
		e.reportEnd(t, event.Deleted{Action: event.Gone, Reason: otherNow})
	default:
		return live
	}
	return nil
}

func (e *Engine) accepted(t *target, live *unstructured.Unstructured) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case t.done: // The watch has already reported the result.
	case live == nil, e.DryRun == object.DryRunServer:
		e.finish(t, event.Deleted{Action: event.Gone})
	case e.Wait:
		t.markTerminating()
		t.asked = time.Now()
		t.moved = t.asked
		t.returned = live.GetDeletionTimestamp() == nil
		if t.live == nil || object.Newer(live.GetResourceVersion(), t.live.GetResourceVersion()) {
			e.onRead(t, live)
		}
	case live.GetDeletionTimestamp() == nil:
		e.finish(t, event.Deleted{Action: event.Gone}) // For some kinds, the answer is the deleted object.
	default:
		t.remember(live)
		e.finish(t, event.Deleted{Action: event.Remains})
	}
}

// The client already limits the rate of requests. The limit on goroutines only bounds memory use.
func (e *Engine) concurrently(ctx context.Context, targets []*target, do func(context.Context, *target)) {
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
	_ = g.Wait() // do reports errors as events
}

// otherNow is the reason if another object now has the target's name (edge case 68).
const otherNow = "it is gone; another object has its name now, and was left alone"

// isUnserved reports whether the kind is gone, with all its objects. It is false if the server did
// not answer, or serves another version.
func isUnserved(err error) bool {
	return meta.IsNoMatchError(err) && errors.Unwrap(err) == nil
}

type contents struct {
	running    bool
	left, most int
	// due holds the time of the next count; zero before the first count. pause is the latest pause.
	due   time.Time
	pause time.Duration
}

const (
	// countAfter is the pause between the request and the first count. Later pauses grow from
	// countFirst to countLast.
	countAfter = 500 * time.Millisecond
	countFirst = 2 * time.Second
	countLast  = 10 * time.Second
	// countedAtOnce is the largest number of namespaces and CRDs whose contents are counted: a count
	// takes one request for each kind. If there are more, only their conditions show progress, later
	// and in less detail.
	countedAtOnce = 10
)

func (c *contents) nextRead(asked time.Time) time.Time {
	if c.due.IsZero() {
		return asked.Add(countAfter)
	}
	return c.due
}

func holds(kind object.Kind) bool {
	switch kind.GVK.GroupKind().String() {
	case "Namespace", "CustomResourceDefinition.apiextensions.k8s.io":
		return true
	}
	return false
}
