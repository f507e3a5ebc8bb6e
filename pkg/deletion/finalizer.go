package deletion

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

func refuse(live *unstructured.Unstructured, finalizer string) error {
	switch {
	case live == nil || live.GetDeletionTimestamp() == nil:
		return &object.HintedError{
			Err:    errors.New("is not being deleted, so its finalizer " + finalizer + " stays"),
			Advice: "delete it first; its controller should remove the finalizer",
		}
	case finalizer == string(corev1.FinalizerKubernetes) && !slices.Contains(live.GetFinalizers(), finalizer):
		return &object.HintedError{
			Err:    errors.New("keeps the finalizer " + finalizer + ", which is needed to delete its contents"),
			Advice: "without it, the contents of a namespace would remain in storage, unreachable",
		}
	case !slices.Contains(object.Finalizers(live), finalizer):
		has := "it has none"
		if all := object.Finalizers(live); len(all) > 0 {
			has = "it has " + strings.Join(all, ", ")
		}
		return &object.HintedError{Err: errors.New("has no finalizer " + finalizer), Advice: has}
	}
	return nil
}

// release removes the finalizer once each target has been explained and the user has agreed (edge
// case 69).
func (e *Engine) release(ctx context.Context, targets []*target) {
	var eligible []*target
	var refs []object.Ref
	e.mu.Lock()
	for _, t := range targets {
		if t.done || !t.found {
			continue
		}
		if err := refuse(t.live, e.Finalizer); err != nil {
			e.finish(t, event.Deleted{Action: event.Failed, Err: err})
			continue
		}
		eligible, refs = append(eligible, t), append(refs, t.Ref)
	}
	if e.Explainer != nil {
		for _, t := range eligible {
			e.explain(ctx, t)
		}
	}
	e.mu.Unlock()
	if len(eligible) == 0 {
		return
	}
	e.side.Wait()
	if err := e.Confirm(ctx, e.Finalizer, refs); err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, t := range eligible {
			if !t.done {
				e.outcome.Remaining++
				e.finish(t, event.Deleted{Action: event.Skipped, Err: err})
			}
		}
		return
	}
	e.concurrently(ctx, eligible, e.releaseOne)
}

// releaseOne removes the finalizer from the version that was last seen. After a conflict, it reads
// the object again.
func (e *Engine) releaseOne(ctx context.Context, t *target) {
	if !e.begin(t) {
		return
	}
	e.mu.Lock()
	live := t.live
	e.mu.Unlock()
	again := false
	for attempts := retry.At(t.Ref); ; again = true {
		attempts.OnRead(live)
		switch err := refuse(live, e.Finalizer); {
		case err == nil:
		case again && live.GetDeletionTimestamp() != nil:
			e.released(t, live) // Perhaps our own request removed it, and its answer was lost.
			return
		default:
			e.reportEnd(t, event.Deleted{Action: event.Failed, Err: err})
			return
		}
		left, err := e.Server.RemoveFinalizer(ctx, *t.kind, live, e.Finalizer)
		switch {
		case err == nil:
			e.released(t, left)
			return
		case apierrors.IsNotFound(err), isUnserved(err):
			e.reportEnd(t, event.Deleted{Action: event.Gone})
			return
		case !apierrors.IsConflict(err):
			e.fail(ctx, t, "patch", err)
			return
		}
		if err := attempts.Again(ctx); err != nil {
			e.fail(ctx, t, "patch", err)
			return
		}
		if live = e.liveTarget(ctx, t); live == nil {
			return
		}
	}
}

func (e *Engine) released(t *target, left *unstructured.Unstructured) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Emit(event.Terminating{Ref: t.Ref, Text: "finalizer " + e.Finalizer + " was removed"})
	if t.done { // The watch may report the deletion before the answer arrives.
		return
	}
	t.markTerminating()
	t.explanation = explanation{} // The old one is about the finalizer.
	switch {
	case e.Wait:
		t.asked = time.Now()
		t.moved = t.asked
	case len(object.Finalizers(left)) == 0:
		e.finish(t, event.Deleted{Action: event.Gone})
	default:
		t.remember(left)
		e.finish(t, event.Deleted{Action: event.Remains})
	}
}
