package wait

import (
	"reflect"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// bursts is how long changes are gathered before they are reported: a controller that
// writes an object three times in a moment makes one change. An object that keeps changing
// is reported once a second.
const bursts = 100 * time.Millisecond

// dirty remembers that there is something to say of an object.
func (r *run) dirty(it *item) {
	r.unsaid[it] = true
	if r.flush == nil {
		r.flush = time.After(bursts)
	}
}

// say tells how far objects are of which that has changed.
func (r *run) say() {
	r.flush = nil
	next := time.Minute
	for _, it := range r.items {
		if !r.unsaid[it] {
			continue
		}
		now := event.Judged{Ref: it.ref, Conditions: it.verdict.conditions, Note: it.note}
		if it.live == nil {
			now.Note = notThere(it)
		}
		if same(it.told, now) {
			delete(r.unsaid, it)
			continue
		}
		if left := it.burst.Left(r.now()); left > 0 {
			next = min(next, left)
			continue
		}
		delete(r.unsaid, it)
		it.told = now
		r.emit(now)
	}
	if len(r.unsaid) > 0 {
		r.flush = time.After(next)
	}
}

func same(a, b event.Judged) bool { return reflect.DeepEqual(a, b) }
