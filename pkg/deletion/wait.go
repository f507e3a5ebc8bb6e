package deletion

import (
	"context"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// await waits until all targets are done. While it waits it has those explained of
// which nothing moves, and gives up those whose time is over.
func (e *Engine) await(ctx context.Context, targets []*target) {
	left := targets
	for {
		var next time.Time
		left, next = e.review(ctx, left)
		if len(left) == 0 || ctx.Err() != nil {
			return
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-ctx.Done():
		case <-e.woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// review looks after the targets that are left, and returns them with the time at
// which to look again.
func (e *Engine) review(ctx context.Context, targets []*target) (left []*target, next time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	next = now.Add(time.Minute)
	for _, t := range targets {
		if t.done || t.asked.IsZero() { // Not asked: interrupted.
			continue
		}
		if t.lost {
			t.lost = false
			e.seek(ctx, t)
		}
		if t.view.ended != nil {
			e.finish(t, event.Deleted{Action: event.Unknown, Err: t.view.ended})
			continue
		}
		switch due := e.dueAt(t); {
		case due.IsZero():
		case due.After(now):
			next = earlier(next, due)
		case e.Explainer == nil, t.explanation.over(t.moved, due):
			e.finish(t, event.Deleted{Action: event.Remains, Overdue: true})
			continue
		default: // Before it is given up, it is explained as it is by then.
			e.explain(ctx, t)
		}
		if left := e.tellNews(t, now); left > 0 {
			next = earlier(next, now.Add(left))
		}
		next = earlier(next, e.examine(ctx, t, now))
		left = append(left, t)
	}
	return left, next
}

// dueAt is when the time of a target is over; zero for never.
func (e *Engine) dueAt(t *target) time.Time {
	if e.Timeout == nil {
		return time.Time{}
	}
	timeout := e.Timeout(*t.kind)
	if timeout <= 0 {
		return time.Time{}
	}
	return t.asked.Add(timeout)
}

// examine has a target counted and explained when it is time for that, and returns
// when it will be.
func (e *Engine) examine(ctx context.Context, t *target, now time.Time) time.Time {
	next := now.Add(time.Minute)
	if t.live == nil || t.view.blind {
		return next
	}
	if e.Counter != nil && holds(*t.kind) && !t.contents.running {
		if at := t.contents.next(t.asked); at.After(now) {
			next = earlier(next, at)
		} else {
			e.count(ctx, t)
		}
	}
	if e.Explainer != nil && !t.explanation.running {
		if at := t.explanation.next(t.quietSince(), e.stuckAfter()); at.After(now) {
			next = earlier(next, at)
		} else {
			e.explain(ctx, t)
		}
	}
	return next
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// seek looks for a target that its selector does not find any more. If it is still
// there, it is watched by its name.
func (e *Engine) seek(ctx context.Context, t *target) {
	e.side.Go(func() {
		if e.still(ctx, t) == nil {
			return
		}
		e.mu.Lock()
		v := e.viewOf(*t.kind, object.Selection{Namespace: t.Ref.Namespace}, t)
		e.mu.Unlock()
		v.follow(ctx)
	})
}
