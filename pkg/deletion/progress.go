package deletion

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// see takes in a new version of an object that is going. The engine is locked.
func (e *Engine) see(t *target, u *unstructured.Unstructured) {
	t.keep(u)
	t.goes()
	next := markOf(u)
	if t.marks == nil {
		t.marks = map[string]bool{}
		t.mark, t.moved = next, time.Now()
		t.marks[next.text()] = true
		return
	}
	text := t.mark.step(next)
	if t.contents.most > 0 && len(t.mark.finalizers) == len(next.finalizers) {
		text = "" // How much is left in it says more.
	}
	t.mark = next
	if t.marks[next.text()] {
		return // Back and forth is no progress.
	}
	t.marks[next.text()] = true
	t.moved = time.Now()
	if text != "" && !t.asked.IsZero() {
		e.goes(t, event.Going{Ref: t.Ref, Text: text})
	}
}

// goes reports that something moved, at most once a second for an object. News that has to
// wait is replaced by newer news. The engine is locked.
func (e *Engine) goes(t *target, g event.Going) {
	t.news = &g
	if e.tellNews(t, time.Now()) > 0 {
		e.wake()
	}
}

// tellNews tells what moved in an object, and returns how long that has to wait yet.
func (e *Engine) tellNews(t *target, now time.Time) time.Duration {
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

// count counts what a target holds, beside the wait. The engine is locked.
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
			return // Its conditions tell, later and less.
		}
		before, known := c.left, c.most > 0
		c.left, c.most = n, max(n, c.most)
		if known && n < before {
			t.moved = time.Now()
		}
		if n != before {
			e.goes(t, event.Going{Ref: t.Ref, Done: c.most - n, Total: c.most})
		}
	})
}
