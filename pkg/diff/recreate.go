package diff

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// recreation reports an object that would be deleted and created anew. Its two sides are
// what we own of the object that goes, and of the one that comes.
func (e *Engine) recreation(ctx context.Context, p *predict.Prediction, anew *predict.Recreation) {
	view, err := e.Predictor.View(p, anew.Answer)
	if err != nil {
		e.cannotTell(ctx, p.Item, err)
		return
	}
	out := event.Compared{
		Ref: p.Item.Ref, Source: p.Item.Source, Action: event.Recreate, Reason: "deleted and created anew: " + anew.Reason,
		Changes: redact.Changes(p.Item.Ref, view.Changes()),
	}
	out.Before, out.After = redact.Pair(out.Ref, view.Before, view.After)
	e.compared(out)
}
