package deletion

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// settle turns the objects that were found into targets. It finishes those that do not exist or
// could not be read.
func (e *Engine) settle(index int, ph Phase, views []*view) []*target {
	e.mu.Lock()
	defer e.mu.Unlock()
	var targets []*target
	for _, v := range views {
		targets = append(targets, v.order...)
	}
	if !e.planned {
		items := make([]Item, len(targets))
		for i, t := range targets {
			items[i] = t.Item
		}
		e.plan([]Phase{{Name: ph.Name, Sets: []Set{{Items: items}}}})
	}
	e.Emit(event.PhaseStarted{Index: index})
	for _, v := range views {
		if v.open && v.ended != nil {
			e.unreadable(v)
		}
	}
	e.pending, e.explained, e.passed = len(targets), 0, false
	for _, t := range targets {
		t.started = true
		e.classify(t)
	}
	return targets
}

func (e *Engine) classify(t *target) {
	switch {
	case t.Err != nil:
		e.finish(t, event.Deleted{Action: event.Unknown, Err: t.Err})
	case t.found && t.UID != "" && t.uid != t.UID:
		e.finish(t, event.Deleted{Action: event.Gone, Reason: otherNow})
	case t.found && t.refused != nil:
		e.finish(t, event.Deleted{Action: event.Failed, Err: t.refused})
	case t.found:
	case !t.kind.Kept():
		e.absent(t, "the cluster does not store objects of its kind: it only answers requests to create them")
	case t.Absent, t.view.kindGone:
		e.absent(t, "the cluster does not serve its kind, so it cannot exist")
	case e.mayAskUnseen(t):
		t.unseen = true
	case t.view.ended != nil:
		e.finish(t, event.Deleted{Action: event.Unknown, Err: t.view.ended})
	case t.view.synced:
		e.absent(t, "")
	default: // After an interrupt, close reports it.
	}
}

// mayAskUnseen reports whether to delete a target that we have no permission to read. The user
// named it, and may have permission to delete it. The result is false if the deletion depends on
// the content of the object, which we cannot check. It is also false for a client-side dry run.
func (e *Engine) mayAskUnseen(t *target) bool {
	return t.view.ended != nil && apierrors.IsForbidden(t.view.ended) && !t.view.open &&
		t.Stays == nil && e.Finalizer == "" && e.DryRun != object.DryRunClient
}

// The target was deleted before, or its name is a typo.
func (e *Engine) absent(t *target, reason string) {
	t.found = false
	if e.IgnoreAbsent {
		e.finish(t, event.Deleted{Action: event.Absent, Reason: reason})
		return
	}
	resource := schema.GroupResource{Group: t.Ref.GVK.Group, Resource: t.kind.Resource}
	if resource.Resource == "" {
		resource.Resource = t.Ref.GVK.Kind
	}
	var err error = apierrors.NewNotFound(resource, t.Ref.Name)
	if reason != "" {
		err = &object.HintedError{Err: err, Advice: reason}
	}
	e.finish(t, event.Deleted{Action: event.Failed, Err: err})
}

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

func (e *Engine) review(ctx context.Context, targets []*target) (left []*target, next time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	next = now.Add(time.Minute)
	counted := 0
	for _, t := range targets {
		if !t.done && holds(*t.kind) {
			counted++
		}
	}
	e.counts = counted <= countedAtOnce
	for _, t := range targets {
		if t.done || t.asked.IsZero() {
			continue
		}
		if t.lost {
			t.lost = false
			if t.returned { // The server answered as if it were gone, and now it is not selected any more.
				e.finish(t, event.Deleted{Action: event.Gone})
				continue
			}
			e.findRemaining(ctx, t)
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
		default: // Explain its latest state before giving up on it.
			e.explain(ctx, t)
		}
		if left := e.reportNews(t, now); left > 0 {
			next = earlier(next, now.Add(left))
		}
		next = earlier(next, e.examine(ctx, t, now))
		left = append(left, t)
	}
	return left, next
}

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

// examine starts a count or an explanation if one is due, and returns when the next one will be.
func (e *Engine) examine(ctx context.Context, t *target, now time.Time) time.Time {
	next := now.Add(time.Minute)
	if t.live == nil || t.view.blind {
		return next
	}
	if e.Counter != nil && e.counts && holds(*t.kind) && !t.contents.running {
		if at := t.contents.nextRead(t.asked); at.After(now) {
			next = earlier(next, at)
		} else {
			e.count(ctx, t)
		}
	}
	if e.Explainer != nil && !t.explanation.running {
		quiet := t.quietSince()
		if holds(*t.kind) && !e.counts && e.wentAt.After(quiet) {
			quiet = e.wentAt // Its controller takes one namespace after the other.
		}
		if at := t.explanation.nextTime(quiet, e.stuckAfter()); at.After(now) {
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

// findRemaining handles a target that its selector no longer matches. If the object still exists, seek
// watches it by name.
func (e *Engine) findRemaining(ctx context.Context, t *target) {
	e.side.Go(func() {
		if e.liveTarget(ctx, t) == nil {
			return
		}
		e.mu.Lock()
		v := e.viewOf(*t.kind, object.Selection{Namespace: t.Ref.Namespace}, t)
		e.mu.Unlock()
		v.follow(ctx)
	})
}
