package apply

import (
	"context"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// try reports what the write of one target would do.
func (e *Engine) try(ctx context.Context, t *target) {
	out := event.Applied{Ref: t.Item.Ref, Source: t.Item.Source, Action: event.Created}
	if t.Live == nil {
		if e.done.created(t.Item) {
			out.Reason = unchecked(t.Item)
			e.seen(t.Item, nil, t.Item.Object, true)
			e.finish(out)
			return
		}
	}
	if t.Answer == nil && t.Unchecked == "" && t.anew == nil {
		if e.askOne(ctx, t); t.done {
			return
		}
	}
	switch {
	case t.anew != nil:
		out.Action, out.Reason = event.Recreated, t.anew.Reason
		e.finish(out)
	case t.contested(): // only since we looked at the phase
		e.conflict(t)
	case t.Unchecked != "":
		out.Action, out.Reason, out.Yielded, out.Left = event.Configured, t.Unchecked, t.Yielded, t.Left
		e.finish(e.taking(t, out))
	default:
		e.accepted(ctx, t, t.Answer)
	}
}

// taking adds what an apply that the server was not asked about takes over.
func (e *Engine) taking(t *target, out event.Applied) event.Applied {
	out.Adopted = t.AdoptedFrom()
	for _, c := range redact.Conflicts(t.Item.Ref, slices.Concat(t.Taken, t.Overwritten)) {
		out.Taken = append(out.Taken, c.Change())
	}
	return out
}
