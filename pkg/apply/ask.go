package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
)

// ask asks the server about the targets of which the live object alone does not
// tell enough. It returns those that are left to write.
func (e *Engine) ask(ctx context.Context, targets []*target) []*target {
	var doubtful []*target
	for _, t := range targets {
		if t.Verdict == noop.Doubtful || t.Verdict == noop.Contested {
			doubtful = append(doubtful, t)
		}
	}
	e.each(ctx, doubtful, e.askOne)
	return slices.DeleteFunc(targets, (*target).isDone)
}

// askOne asks about one target. It is done if nothing would change, or if the
// server refuses it.
func (e *Engine) askOne(ctx context.Context, t *target) {
	err := e.predict(ctx, t)
	switch {
	case err != nil && e.mustRecreate(ctx, t, err): // It is left to write.
	case err != nil:
		t.done = true
		e.fail(ctx, t.Item, e.predictorOf(t).Explain(ctx, e.Server, &t.Prediction, err))
	case !t.contested() && t.NoChange():
		t.done = true
		e.accepted(ctx, t, t.Answer)
	}
}

// predict asks the server what the apply would make of the target.
func (e *Engine) predict(ctx context.Context, t *target) error {
	err := e.predictorOf(t).Ask(ctx, e.Server, &t.Prediction)
	if conflict, ok := errors.AsType[*predict.ConflictError](err); ok {
		t.Conflicts = conflict.Conflicts
		t.refusal = e.predictorOf(t).ExplainConflict(ctx, e.Server, &t.Prediction, conflict)
		return nil
	}
	return err
}

// guess reports what a client-side dry run knows: what would be sent.
func (e *Engine) guess(_ context.Context, t *target) {
	did := event.Configured
	if t.Live == nil {
		did = event.Created
	}
	e.finish(event.Applied{
		Ref: t.Item.Ref, Source: t.Item.Source, Action: did,
		Yielded: t.Yielded, Left: t.Left,
	})
}
