package apply

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// finish reports the end of one object and remembers it for those that need it.
func (e *Engine) finish(a event.Applied) {
	a.DryRun = e.DryRun != DryRunNone
	e.mu.Lock()
	defer e.mu.Unlock()
	e.actions[a.Ref.Key()] = a.Action
	switch a.Action {
	case event.InConflict:
		e.outcome.Conflicts++
	case event.Failed:
		if couldNotTell(a.Err) {
			e.outcome.Unknown++
		} else {
			e.outcome.Rejected++
		}
	default:
	}
	e.Emit(a)
}

// couldNotTell: the server did not refuse the object; it could not be asked, or
// not by us.
func couldNotTell(err error) bool {
	var unreachable interface{ Unreachable() bool }
	return errors.As(err, &unreachable) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

func (e *Engine) fail(item plan.Item, err error) {
	e.finish(event.Applied{
		Ref: item.Ref, Source: item.Source, Action: event.Failed,
		Err: redact.Error(item.Object, err),
	})
}

func (e *Engine) skip(item plan.Item, why error) {
	e.finish(event.Applied{Ref: item.Ref, Source: item.Source, Action: event.Skipped, Err: why})
}

func (e *Engine) skipAll(ph plan.Phase, why error) {
	for _, item := range ph.Items {
		e.skip(item, why)
	}
}

func (e *Engine) conflict(t *target) {
	t.done = true
	e.finish(event.Applied{
		Ref: t.Item.Ref, Source: t.Item.Source, Action: event.InConflict,
		Conflicts: redact.Conflicts(t.Item.Ref, t.Conflicts), Yielded: t.Yielded,
	})
}

// applied describes an object that the server accepted.
func (e *Engine) applied(t *target, answer *unstructured.Unstructured, did event.Action) event.Applied {
	out := event.Applied{
		Ref: t.Item.Ref, Source: t.Item.Source, Action: did,
		Yielded: t.Yielded, Object: e.show(answer),
	}
	if t.Live == nil {
		return out
	}
	removed, released := t.Left(answer)
	out.Removed = redact.Changes(t.Item.Ref, removed)
	out.Released = redact.Changes(t.Item.Ref, released)
	for _, c := range redact.Conflicts(t.Item.Ref, t.Taken) {
		out.Taken = append(out.Taken, c)
	}
	if t.Adoption != nil {
		out.Adopted = t.Adoption.Managers()
	}
	return out
}

// show returns the object for outputs that print objects, without what must not
// be shown.
func (e *Engine) show(u *unstructured.Unstructured) *unstructured.Unstructured {
	if !e.Objects || u == nil {
		return nil
	}
	return redact.Object(u)
}

// unchecked says why the server was not asked about the item.
func unchecked(item plan.Item) string {
	for _, need := range item.Needs {
		return "not checked by the server: " + describe(need) + " is created by this set"
	}
	return errUnchecked.Error()
}

func describe(key object.Key) string { return key.Kind + "/" + key.Name }
