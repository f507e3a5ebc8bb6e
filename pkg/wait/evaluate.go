package wait

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// present takes in a version of the object.
func (r *run) present(ctx context.Context, it *item, u *unstructured.Unstructured) {
	if it.done {
		return
	}
	if it.uid != "" && it.uid != u.GetUID() {
		it.note = "replaced during the wait"
		r.emit(event.Warned{Ref: it.ref, Text: "was replaced by another object of its name during the wait"})
	}
	it.known, it.absent, it.uid = true, time.Time{}, u.GetUID()
	if it.appeared.IsZero() {
		it.appeared = r.now()
	}
	if r.Objects {
		it.whole = u
	}
	it.live = u.Object
	r.watched(it, u)
	r.evaluate(ctx, it)
	if !it.done {
		it.live = it.view.compiled[it.goal].trim(u.Object)
	}
}

// gone takes in that the object is not there, be it that it was deleted or that it
// never was.
func (r *run) gone(ctx context.Context, it *item) {
	if it.done || it.known && it.live == nil {
		return
	}
	if !it.known && !it.found {
		r.missed(it)
	}
	deleted := it.live != nil || it.found
	it.known, it.live, it.absent = true, nil, r.now()
	action := event.Gone
	switch {
	case !deleted || it.goal.waitsFor(condition.Delete):
	case it.view.selecting() && it.view.labels != "":
		action, it.note = event.Unselected, "deleted, or without the labels, during the wait"
		r.emit(event.Warned{Ref: it.ref, Text: "is no longer selected: it was deleted, or its labels have changed"})
	default:
		it.note = "deleted during the wait"
		r.emit(event.Warned{Ref: it.ref, Text: "was " + it.note})
	}
	r.evaluate(ctx, it)
	if !it.done && deleted && (it.found || it.view.selecting()) {
		// A selector does not care about names: nothing else takes its place.
		r.end(it, action)
	}
}

// evaluate evaluates what is known of the object now, and ends it if that is enough.
func (r *run) evaluate(ctx context.Context, it *item) {
	if it.done || !it.known {
		return
	}
	it.verdict = it.view.compiled[it.goal].evaluate(ctx, it.live, r.now())
	end, late := r.outOfTime(it)
	switch v := it.verdict; {
	case v.met:
		r.end(it, event.Met)
	case v.failed && it.live != nil:
		r.end(it, event.Failed)
	case r.absentTooLong(it):
		it.note = notThere(it)
		r.end(it, event.TimedOut)
		r.stop = true
	case late:
		r.expire(ctx, it, end)
	default:
		r.again(it)
		r.dirty(it)
	}
}

// absentTooLong reports whether the object had the time to come that it was given.
func (r *run) absentTooLong(it *item) bool {
	return it.live == nil && r.existence(it) != nil && r.now().Sub(it.absent) >= *r.existence(it)
}

// existence is how long an object may be absent for all to go on; nil for no bound.
func (r *run) existence(it *item) *time.Duration {
	if _, own := r.Limits.Existence(it.view.kind); own {
		return nil
	}
	return r.Existence
}

// again has the object evaluated again when time alone may change the verdict.
func (r *run) again(it *item) {
	after := it.verdict.recheck
	sooner := func(left time.Duration) {
		if after == 0 || left < after {
			after = left
		}
	}
	if existence := r.existence(it); it.live == nil && existence != nil {
		sooner(*existence - r.now().Sub(it.absent))
	}
	if d := r.dueOf(it); !d.at.IsZero() && (d.note != "" || r.overtime) {
		sooner(max(time.Millisecond, d.at.Sub(r.now())))
	}
	if it.timer != nil {
		it.timer.Stop()
		it.timer = nil
	}
	if after > 0 && !r.looking {
		it.timer = time.AfterFunc(after, func() {
			select {
			case r.rechecks <- it:
			case <-r.over:
			}
		})
	}
}
