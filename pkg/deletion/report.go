package deletion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// finish reports the end of a target, once. The engine is locked.
func (e *Engine) finish(t *target, d event.Deleted) {
	if t.done {
		return
	}
	t.done, t.result = true, d.Action
	d.Ref, d.Source, d.DryRun = t.Ref, t.Source, e.DryRun != object.DryRunNone
	switch d.Action {
	case event.Unknown:
		e.outcome.Unknown++
	case event.Failed:
		e.outcome.Refused++
	case event.Gone:
		if t.aggregated && !d.DryRun {
			e.aggregates = append(e.aggregates, t)
		}
	case event.Remains:
		d.Since = t.terminatingSince()
		if t.passage != nil {
			d.Causes = t.explanation.causes
		}
		if e.Wait {
			e.outcome.Remaining++
		}
	default:
	}
	if d.Err != nil {
		d.Err = redact.Refusal(t.Ref, d.Err)
	}
	t.live, t.seen, t.passage = nil, nil, nil
	e.Emit(d)
	if t.started {
		if e.pending--; e.pending == 0 {
			e.wake()
		}
	}
}

// end is finish for callers that do not hold the lock.
func (e *Engine) end(t *target, d event.Deleted) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.finish(t, d)
}

// replaced reports a target whose name another object has now.
func (e *Engine) replaced(t *target) {
	e.finish(t, event.Deleted{Action: event.Gone, Reason: otherNow})
}

// unreadable reports a selection that could not be read.
func (e *Engine) unreadable(v *view) {
	e.outcome.Unknown++
	ref := v.Ref()
	e.Emit(event.Deleted{Ref: ref, Action: event.Unknown, Err: redact.Refusal(ref, v.ended)})
}

// fail reports a target that was not deleted: it was refused, or its outcome is unknown.
func (e *Engine) fail(ctx context.Context, t *target, verb string, err error) {
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		// The server did not refuse it: we stopped.
		if object.MayBeWritten(err) {
			err = fmt.Errorf("it was in progress, and may have been accepted: %w", err)
		}
		e.end(t, event.Deleted{Action: event.Skipped, Err: err})
		return
	}
	action := event.Failed
	explained := e.Server.ExplainRefusal(ctx, *t.kind, err)
	switch {
	case !errors.Is(err, explained): // There was something to explain.
		err = explained
	case e.couldNotTell(ctx, err):
		action = event.Unknown
	case apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// Admission refuses with the same code as a missing permission, so ask which it was.
		permitted, askErr := e.Server.Permitted(ctx, *t.kind, t.Ref, verb)
		if askErr == nil && permitted {
			break
		}
		action = event.Unknown
		if askErr == nil {
			err = denied(t, verb, err)
		}
	}
	e.end(t, event.Deleted{Action: action, Err: err})
}

// denied adds to a refusal which permission is missing. It shows nothing of the server's text about
// a Secret.
func denied(t *target, verb string, err error) error {
	words := []string{"see: " + command.Kubectl("auth", "can-i"), verb, t.kind.GVR().GroupResource().String()}
	if t.Ref.Namespace != "" {
		words = append(words, "-n", t.Ref.Namespace)
	}
	return &object.HintedError{Err: redact.Refusal(t.Ref, err), Advice: strings.Join(words, " ")}
}

// couldNotTell reports whether the server did not refuse: it could not be asked.
func (e *Engine) couldNotTell(ctx context.Context, err error) bool {
	return object.IsUnanswered(err) || apierrors.IsUnauthorized(err) || ctx.Err() != nil || inTrouble(err) || meta.IsNoMatchError(err)
}

// skipAll reports the objects of a phase that was not begun.
func (e *Engine) skipAll(ph Phase, why error) {
	for _, s := range ph.Sets {
		for _, it := range s.Items {
			e.end(&target{Item: it, kind: &s.Kind}, event.Deleted{Action: event.Skipped, Err: why})
		}
	}
}

// close reports targets without a result, because the run was interrupted, and returns whether all
// of the phase is gone.
func (e *Engine) close(ctx context.Context, targets []*target) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range targets {
		switch {
		case t.done:
		case !t.asked.IsZero():
			e.finish(t, event.Deleted{Action: event.Remains, Reason: "no longer waited for"})
		default:
			e.finish(t, event.Deleted{Action: event.Skipped, Err: context.Cause(ctx)})
		}
	}
	return !slices.ContainsFunc(targets, e.inTheWay)
}

// inTheWay reports whether a target was seen and still exists, so that later phases have to wait. A
// target that was never seen delays nothing: one unknown object is no reason to delete none. Nor
// does one that is kept on purpose: the caller has considered its dependents.
func (e *Engine) inTheWay(t *target) bool {
	switch t.result {
	case event.Gone, event.Absent, event.Kept:
		return false
	case event.Remains:
		return e.Wait
	default:
		return t.found || t.accepted
	}
}

// plan reports what will be deleted. For a selection, that is known once it was listed.
func (e *Engine) plan(phases []Phase) {
	e.planned = true
	planned := event.Planned{Phases: make([]event.Phase, len(phases))}
	for i, ph := range phases {
		refs := ph.refs()
		planned.Phases[i] = event.Phase{Name: ph.Name, Total: len(refs), Refs: refs}
	}
	e.Emit(planned)
}
