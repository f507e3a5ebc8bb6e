package apply

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// inspect looks at a phase of which nothing is written because one before it is
// contested, so that one run shows every conflict and not those of one phase. An
// object that is not there can be in no conflict, and one of a kind that is yet
// to be served is not there.
func (e *Engine) inspect(ctx context.Context, ph plan.Phase, why error) {
	items := make([]*plan.Item, 0, len(ph.Items))
	for i := range ph.Items {
		item := &ph.Items[i]
		if item.Kind.Resource == "" {
			e.skip(*item, why)
			continue
		}
		items = append(items, item)
	}
	e.holdBack(ctx, e.read(ctx, items), why)
}

// holdBack reports the conflicts among objects of which none is written, and of
// the others whether they would have changed.
func (e *Engine) holdBack(ctx context.Context, f found, why error) {
	var unasked []*target
	for _, t := range f.targets {
		if t.Answer == nil && t.Unchecked == "" && !t.contested() {
			unasked = append(unasked, t)
		}
	}
	e.each(ctx, unasked, e.askOne)
	for _, t := range f.targets {
		switch {
		case t.done:
		case t.contested():
			e.conflict(t)
		default:
			e.skip(t.Item, why)
		}
	}
	for _, item := range f.absent {
		e.skip(*item, why)
	}
}
