package wait

import (
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// end gives an object its result.
func (r *run) end(it *item, action event.Action) {
	it.done, it.action = true, action
	r.settled(it)
	r.pending--
	it.view.pending--
	delete(r.unsaid, it)
	if it.timer != nil {
		it.timer.Stop()
	}
	switch action { // A bad result is reported later, with its causes.
	case event.Met:
		r.met++
	case event.Gone, event.Unselected:
		r.left++
	case event.Failed:
		r.stop = true
		return
	default:
		return
	}
	r.emit(it.result())
	it.live, it.whole, it.verdict = nil, nil, verdict{} // It may be one of very many.
}

// result is what became of the object.
func (it *item) result() event.Waited {
	w := event.Waited{
		Ref: it.ref, Action: it.action, Any: it.goal.Any, Conditions: it.verdict.conditions, Note: it.note,
	}
	if it.whole != nil && it.action == event.Met {
		w.Object = redact.Object(it.whole)
	}
	return w
}

// settled forgets why an object hung that has its result.
func (r *run) settled(it *item) {
	r.stalls.Drop(it)
	if it.action == event.Met {
		delete(r.hangs, it)
	}
}
