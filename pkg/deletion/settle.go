package deletion

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

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
		e.classify(t)
	}
	return targets
}

// classify reports a target about which there is nothing to do.
func (e *Engine) classify(t *target) {
	switch {
	case t.Err != nil:
		e.finish(t, event.Deleted{Action: event.Unknown, Err: t.Err})
	case t.found && t.isOther():
		e.replaced(t)
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

// mayAskUnseen reports whether a target that we may not look at can be deleted all the same: the
// user named it, and the right to delete does not include the right to look. A precondition cannot
// be checked.
func (e *Engine) mayAskUnseen(t *target) bool {
	return t.view.ended != nil && apierrors.IsForbidden(t.view.ended) && !t.view.open &&
		t.Stays == nil && e.Finalizer == "" && e.DryRun != object.DryRunClient
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
