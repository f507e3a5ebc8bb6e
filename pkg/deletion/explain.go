package deletion

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/schedule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// explain starts an explanation in the background. The engine must be locked.
func (e *Engine) explain(ctx context.Context, t *target) {
	t.markTerminating()
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
		if x.reported.News(causes, err) {
			e.Emit(event.Stuck{Ref: t.Ref, Since: t.terminatingSince(), Causes: causes, Err: err})
		}
		if e.EndsFor == nil {
			return
		}
		over, next := x.endsFor(e.EndsFor, t.moved, x.last)
		if over != nil {
			e.finish(t, event.Deleted{Action: event.Remains, Reason: fmt.Sprintf(
				"gave up waiting: %s has lasted for %s and will not go away on its own", over.Code, x.last.Sub(x.lasting[over.Code]).Round(time.Second))})
		} else if !next.IsZero() { // Only an explanation at that time or later can end the wait.
			x.pause = min(x.pause, next.Sub(x.last))
		}
	})
}

func (e *Engine) passOver() {
	if e.passed {
		return
	}
	e.passed = true
	e.Emit(event.Warned{Text: fmt.Sprintf("%d objects are still there; the first %d of them are explained, %d are not", e.pending, e.explained, e.pending-e.explained)})
}

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

const (
	explainFor  = 30 * time.Second
	explainMost = 2 * time.Minute
	// explainMany limits how many objects of a phase are explained. If a thousand objects are
	// stuck, most have the same cause.
	explainMany = 50
	explainSide = 8
)

type explanation struct {
	running bool
	// last is the time of the latest explanation; zero before the first one. pause is the shortest
	// pause before the next one.
	last     time.Time
	pause    time.Duration
	causes   []event.Cause
	reported schedule.Reported
	passed   bool
	// lasting maps the code of each cause that may end the wait to the time when it was first
	// found. The time starts again after an explanation without the cause, and after progress of
	// the object.
	lasting map[string]time.Time
}

// endsFor records the latest causes, and returns a cause that has lasted long enough to end the
// wait (over). If there is none, it returns the earliest time at which a cause will have lasted
// long enough (next); zero if no cause can end the wait. The parameter moved is the time of the
// object's last progress.
func (x *explanation) endsFor(ends func(event.Cause) time.Duration, moved, now time.Time) (over *event.Cause, next time.Time) {
	before := x.lasting
	x.lasting = map[string]time.Time{}
	for _, c := range x.causes {
		after := ends(c)
		if after <= 0 {
			continue
		}
		first, known := before[c.Code]
		if !known || first.Before(moved) {
			first = now
		}
		x.lasting[c.Code] = first
		due := first.Add(after)
		if !due.After(now) {
			return &c, next
		}
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return nil, next
}

func (x *explanation) nextTime(since time.Time, after time.Duration) time.Time {
	at := since.Add(after)
	if again := x.last.Add(x.pause); again.After(at) {
		return again
	}
	return at
}

// over reports whether the target needs no further explanation. due is the target's deadline. The
// latest explanation is sufficient if it is not older than the target's last progress (moved), or
// if it was made at or after the deadline.
func (x *explanation) over(moved, due time.Time) bool {
	known := !x.last.IsZero() && (!x.last.Before(moved) || !x.last.Before(due))
	return !x.running && (x.passed || known)
}

// onRead records u, a new version of a terminating object. The engine must be locked.
func (e *Engine) onRead(t *target, u *unstructured.Unstructured) {
	t.remember(u)
	t.markTerminating()
	next := markOf(u)
	if t.marks == nil {
		t.marks = map[string]bool{}
		t.mark, t.moved = next, time.Now()
		t.marks[next.text()] = true
		return
	}
	text := t.mark.step(next)
	if t.contents.most > 0 && len(t.mark.finalizers) == len(next.finalizers) {
		text = "" // The count of its contents says more.
	}
	t.mark = next
	if t.marks[next.text()] {
		return // Flapping is not progress.
	}
	t.marks[next.text()] = true
	t.moved = time.Now()
	if text != "" && !t.asked.IsZero() {
		e.reportTerminating(t, event.Terminating{Ref: t.Ref, Text: text})
	}
}

// reportTerminating reports progress at most once a second. A newer report replaces one that is still waiting.
// The engine must be locked.
func (e *Engine) reportTerminating(t *target, g event.Terminating) {
	t.news = &g
	if e.reportNews(t, time.Now()) > 0 {
		e.wake()
	}
}

// reportNews emits the pending report, or returns how long it must still wait.
func (e *Engine) reportNews(t *target, now time.Time) time.Duration {
	if t.news == nil {
		return 0
	}
	left := t.burst.Left(now)
	if left == 0 {
		e.Emit(*t.news)
		t.news = nil
	}
	return left
}

// count starts a count in the background. The engine must be locked.
func (e *Engine) count(ctx context.Context, t *target) {
	c, live := &t.contents, t.live
	c.running = true
	e.side.Go(func() {
		n, err := e.Counter.Count(ctx, live)
		e.mu.Lock()
		defer e.mu.Unlock()
		c.running = false
		c.pause = min(max(countFirst, c.pause+c.pause/4), countLast)
		c.due = time.Now().Add(c.pause)
		defer e.wake()
		if err != nil || t.done || ctx.Err() != nil {
			return // Its conditions still show progress, but later and in less detail.
		}
		before, known := c.left, c.most > 0
		c.left, c.most = n, max(n, c.most)
		if known && n < before {
			t.moved = time.Now()
		}
		if n != before {
			e.reportTerminating(t, event.Terminating{Ref: t.Ref, Done: c.most - n, Total: c.most})
		}
	})
}
