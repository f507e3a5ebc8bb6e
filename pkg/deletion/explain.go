package deletion

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// explain has a target explained, beside the wait. The engine is locked.
func (e *Engine) explain(ctx context.Context, t *target) {
	t.goes()
	x := &t.explanation
	if x.running || x.passed {
		return
	}
	if x.last.IsZero() {
		if e.explained >= explainMany {
			e.passOver()
			x.passed, x.last, x.pause = true, time.Now(), explainMost
			return
		}
		e.explained++
	}
	x.running = true
	live := t.live
	e.side.Go(func() {
		var causes []event.Cause
		var err error
		if live != nil {
			causes, err = e.reasons(ctx, t, live)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		x.running = false
		x.last = time.Now()
		x.pause = min(max(e.stuckAfter(), 2*x.pause), explainMost)
		defer e.wake()
		if t.done || ctx.Err() != nil {
			return
		}
		x.causes = causes
		if x.told.News(causes, err) {
			e.Emit(event.Stuck{Ref: t.Ref, Since: t.terminatingSince(), Causes: causes, Err: err})
		}
		if e.EndsFor == nil {
			return
		}
		over, next := x.endsFor(e.EndsFor, t.moved, x.last)
		if over != nil {
			e.finish(t, event.Deleted{Action: event.Remains, Reason: fmt.Sprintf(
				"no longer waited for: %s has lasted for %s, and does not pass by itself", over.Code, x.last.Sub(x.lasting[over.Code]).Round(time.Second))})
		} else if !next.IsZero() { // An answer from then decides.
			x.pause = min(x.pause, next.Sub(x.last))
		}
	})
}

// passOver says, once a phase, how many objects are not explained.
func (e *Engine) passOver() {
	if e.passed {
		return
	}
	e.passed = true
	e.Emit(event.Warned{Text: fmt.Sprintf("%d objects are still there; the first %d of them are explained, %d are not", e.pending, e.explained, e.pending-e.explained)})
}

// reasons asks the explainer, when it is the target's turn.
func (e *Engine) reasons(ctx context.Context, t *target, live *unstructured.Unstructured) ([]event.Cause, error) {
	select {
	case e.turns <- struct{}{}:
		defer func() { <-e.turns }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, explainFor)
	defer cancel()
	return e.Explainer.Explain(ctx, *t.kind, live)
}
