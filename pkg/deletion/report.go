package deletion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// finish emits a target's result, but only the first one. The engine must be locked.
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
		if holds(*t.kind) {
			e.wentAt = time.Now()
		}
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

func (e *Engine) reportEnd(t *target, d event.Deleted) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.finish(t, d)
}

func (e *Engine) unreadable(v *view) {
	e.outcome.Unknown++
	ref := v.Ref()
	e.Emit(event.Deleted{Ref: ref, Action: event.Unknown, Err: redact.Refusal(ref, v.ended)})
}

func (e *Engine) fail(ctx context.Context, t *target, verb string, err error) {
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		e.stopped(t, err)
		return
	}
	action := event.Failed
	explained := e.Server.ExplainRefusal(ctx, *t.kind, err)
	switch {
	case !errors.Is(err, explained): // A webhook refused it.
		err = explained
	case object.IsUnanswered(err), apierrors.IsUnauthorized(err), ctx.Err() != nil, meta.IsNoMatchError(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err), apierrors.IsTimeout(err),
		apierrors.IsServerTimeout(err), apierrors.IsTooManyRequests(err):
		action = event.Unknown // The server did not decide.
	case apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// Admission and RBAC use the same code for a refusal.
		permitted, askErr := e.Server.Permitted(ctx, *t.kind, t.Ref, verb)
		if askErr == nil && permitted {
			break
		}
		action = event.Unknown
		if askErr == nil {
			err = denied(t, verb, err)
		}
	}
	e.reportEnd(t, event.Deleted{Action: action, Err: err})
}

// stopped reports a target whose request an interrupt stopped before the server answered.
func (e *Engine) stopped(t *target, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !t.asked.IsZero(): // Its deletion was accepted before.
		e.giveUp(t, true)
		return
	case object.MayBeWritten(err):
		err = fmt.Errorf("the request was in progress, and may have been accepted: %w", err)
	}
	e.finish(t, event.Deleted{Action: event.Skipped, Err: err})
}

// giveUp reports a target whose deletion was accepted, but that was not seen to be gone. If an
// interrupt is the reason, the response to the deletion decides. The engine must be locked.
func (e *Engine) giveUp(t *target, interrupted bool) {
	if t.returned && interrupted {
		e.finish(t, event.Deleted{Action: event.Gone})
		return
	}
	e.finish(t, event.Deleted{Action: event.Remains, Reason: "gave up waiting"})
}

// denied adds a hint about the missing permission. It omits the server's text about a Secret.
func denied(t *target, verb string, err error) error {
	words := []string{"see: " + command.Kubectl("auth", "can-i"), verb, t.kind.GVR().GroupResource().String()}
	if t.Ref.Namespace != "" {
		words = append(words, "-n", t.Ref.Namespace)
	}
	return &object.HintedError{Err: redact.Refusal(t.Ref, err), Advice: strings.Join(words, " ")}
}

func (e *Engine) skipAll(ph Phase, why error) {
	for _, s := range ph.Sets {
		for _, it := range s.Items {
			e.reportEnd(&target{Item: it, kind: &s.Kind}, event.Deleted{Action: event.Skipped, Err: why})
		}
	}
}

// close reports a result for each target that an interrupt left without one. It returns true if no
// target blocks the later phases.
func (e *Engine) close(ctx context.Context, targets []*target) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range targets {
		switch {
		case t.done:
		case !t.asked.IsZero():
			e.giveUp(t, ctx.Err() != nil)
		default:
			e.finish(t, event.Deleted{Action: event.Skipped, Err: context.Cause(ctx)})
		}
	}
	return !slices.ContainsFunc(targets, e.inTheWay)
}

// inTheWay reports whether later phases must wait for a target. They do not wait for a target that
// was never seen, unless the server accepted its deletion, because otherwise one unknown object
// would block the whole deletion. They do not wait for an object that is kept on purpose either,
// because the caller has considered its dependents.
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

// The objects of a selection are known only after they have been listed.
func (e *Engine) plan(phases []Phase) {
	e.planned = true
	planned := event.Planned{Phases: make([]event.Phase, len(phases))}
	for i, ph := range phases {
		refs := ph.refs()
		planned.Phases[i] = event.Phase{Name: ph.Name, Total: len(refs), Refs: refs}
	}
	e.Emit(planned)
}
