package deletion

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/stall"
)

// target is one object that is to go. It is guarded by the engine's lock.
type target struct {
	Item
	kind object.Kind
	view *view // nil where there is nothing to see

	found bool
	// accepted: the server took the request to delete it, though it was never seen.
	accepted bool
	// unseen: we may not look at it. It is asked for all the same, by its name.
	unseen bool
	uid    types.UID
	// live is the object as it was seen last, kept once it is terminating.
	live *unstructured.Unstructured
	// started: from now on, that it goes is the result.
	started bool
	// lost: it was seen no more by those who look for its labels.
	lost bool
	// asked is when the deletion was accepted; zero before.
	asked time.Time
	done  bool
	// result of a target that is done.
	result event.Action

	// moved is when something was last seen to move; marks are what it was like, so
	// far.
	moved time.Time
	mark  mark
	marks map[string]bool

	// news of what moved that was not told yet, for burst.
	news  *event.Going
	burst stall.Burst

	contents    contents
	explanation explanation
}

// keep keeps an object that is terminating; of all others, nothing more is asked.
func (t *target) keep(u *unstructured.Unstructured) {
	if u.GetDeletionTimestamp() != nil {
		t.live = u
	}
}

// terminatingSince is when the object began to go, as the server has it.
func (t *target) terminatingSince() time.Time {
	if t.live != nil {
		return t.live.GetDeletionTimestamp().Time
	}
	return time.Time{}
}

// settle makes targets of what was found, says what the phase is about, and reports
// what is done already: what is not there, and what could not be looked for.
func (e *Engine) settle(index int, ph Phase, views []*view) []*target {
	e.mu.Lock()
	defer e.mu.Unlock()
	var targets []*target
	for _, v := range views {
		targets = append(targets, v.order...)
	}
	if !e.planned {
		e.plan([]Phase{{Name: ph.Name, Sets: []Set{{Items: itemsOf(targets)}}}})
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
		e.judge(t)
	}
	return targets
}

// judge reports a target about which there is nothing to do.
func (e *Engine) judge(t *target) {
	switch {
	case t.Err != nil:
		e.finish(t, event.Deleted{Action: event.Unknown, Err: t.Err})
	case t.found:
	case !t.kind.Kept():
		e.absent(t, "the cluster stores no objects of its kind: it answers them when they are created")
	case t.Absent, t.view.kindGone:
		e.absent(t, "the cluster does not serve its kind, so there can be none")
	case e.mayAskUnseen(t):
		t.unseen = true
	case t.view.ended != nil:
		e.finish(t, event.Deleted{Action: event.Unknown, Err: t.view.ended})
	case t.view.synced:
		e.absent(t, "")
	default: // interrupted; it is reported with the others
	}
}

// absent reports an object that is not there, which is what was wanted, or a slip
// of the pen.
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

func itemsOf(targets []*target) []Item {
	items := make([]Item, len(targets))
	for i, t := range targets {
		items[i] = t.Item
	}
	return items
}
