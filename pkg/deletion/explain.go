package deletion

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/stall"
)

const (
	// explainFor bounds one explanation.
	explainFor = 30 * time.Second
	// explainMost bounds the pause between two explanations of one object.
	explainMost = 2 * time.Minute
	// explainMany is how many objects of a phase are explained: of a thousand that
	// wait for the same, nobody reads more.
	explainMany = 50
	// explainSide is how many are explained side by side.
	explainSide = 8
)

// explanation is what is known of why a target does not go.
type explanation struct {
	running bool
	// last is when it was explained; zero for never. pause comes before the next.
	last  time.Time
	pause time.Duration
	// causes are the latest, told what was told of them.
	causes []event.Cause
	told   stall.Told
	// passed over, because there are too many.
	passed bool
}

// next is when to explain a target of which nothing moves since then.
func (x *explanation) next(since time.Time, after time.Duration) time.Time {
	at := since.Add(after)
	if again := x.last.Add(x.pause); again.After(at) {
		return again
	}
	return at
}

// over tells that there is nothing to be had from explaining it now, when its time
// is over: it was explained since it last moved, or since then.
func (x *explanation) over(moved, due time.Time) bool {
	known := !x.last.IsZero() && (!x.last.Before(moved) || !x.last.Before(due))
	return !x.running && (x.passed || known)
}

// explain has a target explained, beside the wait. The engine is locked.
func (e *Engine) explain(ctx context.Context, t *target) {
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
	})
}

// passOver says, once a phase, how many objects nobody looks into.
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
	return e.Explainer.Explain(ctx, t.kind, live)
}
