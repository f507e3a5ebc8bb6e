package wait

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/stall"
)

// item is one object that is waited for.
type item struct {
	ref  object.Ref
	view *view
	goal *Goal

	// found: a selector found it, so nobody waits for another one of its name.
	found bool
	// known: it is known whether it is there.
	known bool
	// live is what the conditions read of it as it was last seen; nil while it is
	// not there.
	live map[string]any
	// uid is that of the object that was last there.
	uid types.UID
	// absent is since when it is not there; zero while it is.
	absent time.Time
	note   string
	// why it may not be there.
	why string

	verdict verdict
	// whole is the object itself, where it is wanted.
	whole *unstructured.Unstructured
	// told is what was last said of it.
	told  event.Judged
	burst stall.Burst
	// done: it has its result, which is action.
	done   bool
	action event.Action
	// timer judges it again after a while.
	timer *time.Timer
}

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
	if r.Objects {
		it.whole = u
	}
	it.live = u.Object
	r.watched(it, u)
	r.judge(ctx, it)
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
	r.judge(ctx, it)
	if !it.done && deleted && (it.found || it.view.selecting()) {
		// Its name means nothing to whoever selects, and no other comes for it.
		r.end(it, action)
	}
}

// judge judges what is known of the object now, and ends it if that is enough.
func (r *run) judge(ctx context.Context, it *item) {
	if it.done || !it.known {
		return
	}
	it.verdict = it.view.compiled[it.goal].judge(ctx, it.live, r.now())
	switch v := it.verdict; {
	case v.met:
		r.end(it, event.Met)
	case v.failed && it.live != nil:
		r.end(it, event.Failed)
	case r.absentTooLong(it):
		it.note = notThere(it)
		r.end(it, event.TimedOut)
		r.stop = true
	default:
		r.again(it)
		r.dirty(it)
	}
}

// absentTooLong reports whether the object had the time to come that it was given.
func (r *run) absentTooLong(it *item) bool {
	return it.live == nil && r.Existence != nil && r.now().Sub(it.absent) >= *r.Existence
}

// again has the object judged again when time alone may change the verdict.
func (r *run) again(it *item) {
	after := it.verdict.recheck
	if it.live == nil && r.Existence != nil {
		if left := *r.Existence - r.now().Sub(it.absent); after == 0 || left < after {
			after = left
		}
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

// away reports whether the object ended because it was not there any more.
func (it *item) away() bool {
	return it.done && (it.action == event.Gone || it.action == event.Unselected)
}

func notThere(it *item) string {
	if it.note != "" {
		return it.note
	}
	return "does not exist"
}
