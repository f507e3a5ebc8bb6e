package apply

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/settle"
)

// target is one object that is still to be dealt with in this phase.
type target struct {
	predict.Prediction
	done bool
	// refusal is why taking all that is contested would not help.
	refusal error
}

func (t *target) isDone() bool { return t.done }

func (t *target) contested() bool { return len(t.Conflicts) > 0 }

// errTerminating: nothing can be created in a namespace that goes (edge case 19).
var errTerminating error = &predict.RefusedError{
	Err:    errors.New("the namespace is being deleted"),
	Advice: "wait until it is gone, then apply again",
}

// read reads the live objects and judges them. What is settled is reported at
// once and forgotten, so that a large set which did not change costs no memory.
func (e *Engine) read(ctx context.Context, items []plan.Item) []*target {
	groups := map[schema.GroupVersionKind][]plan.Item{}
	for _, item := range items {
		groups[item.GVK] = append(groups[item.GVK], item)
	}
	var (
		mu      sync.Mutex
		targets []*target
		wait    sync.WaitGroup
	)
	for _, group := range groups {
		wait.Go(func() {
			refs := make([]object.Ref, len(group))
			for i, item := range group {
				refs[i] = item.Ref
			}
			e.Server.Live(ctx, group[0].Kind, refs, func(i int, live *unstructured.Unstructured, err error) {
				if t := e.judge(ctx, group[i], live, err); t != nil {
					mu.Lock()
					defer mu.Unlock()
					targets = append(targets, t)
				}
			})
		})
	}
	wait.Wait()
	return targets
}

// judge judges one object; nil means that nothing is left to do about it.
func (e *Engine) judge(ctx context.Context, item plan.Item, live *unstructured.Unstructured, err error) *target {
	if err != nil {
		e.fail(ctx, item, predict.DeniedRead(item, err))
		return nil
	}
	p, err := e.predictor(item).Evaluate(item, live)
	if err != nil {
		e.fail(ctx, item, err)
		return nil
	}
	if live != nil && live.GetDeletionTimestamp() != nil {
		if item.GVK.Group == "" && item.GVK.Kind == "Namespace" {
			e.fail(ctx, item, errTerminating)
			return nil
		}
		e.emit(event.Warned{Ref: item.Ref, Text: "is being deleted; what is applied to it is deleted with it"})
	}
	if p.Verdict == settle.Settled {
		e.finish(event.Applied{
			Ref: item.Ref, Source: item.Source, Action: event.Unchanged,
			Yielded: p.Yielded, Left: p.Left, Object: e.shown(live),
		})
		return nil
	}
	return &target{Prediction: p}
}

// predictor is the one for an item. If this run changed the definition of its kind, the
// server may still publish the schema from before; then only the server can tell.
func (e *Engine) predictor(item plan.Item) predict.Predictor {
	p := e.Predictor
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, need := range item.Needs {
		if action := e.actions[need]; need.Kind == definitionKind && (action == event.Created || action == event.Configured) {
			p.Schema = nil
		}
	}
	return p
}

// ask asks the server about the targets of which the live object alone does not
// tell enough. It returns those that are left to write.
func (e *Engine) ask(ctx context.Context, targets []*target) []*target {
	if e.DryRun == object.DryRunClient {
		for _, t := range targets {
			e.guess(t)
		}
		return nil
	}
	var doubtful []*target
	for _, t := range targets {
		if t.Verdict == settle.Doubtful {
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
	case err != nil:
		t.done = true
		e.fail(ctx, t.Item, e.Predictor.Explain(ctx, e.Server, &t.Prediction, err))
	case !t.contested() && t.NoChange():
		t.done = true
		e.accepted(ctx, t, t.Answer)
	}
}

// predict asks the server what the apply would make of the target.
func (e *Engine) predict(ctx context.Context, t *target) error {
	err := e.Predictor.Ask(ctx, e.Server, &t.Prediction)
	if conflict, ok := errors.AsType[*predict.ConflictError](err); ok {
		t.Conflicts = conflict.Conflicts
		t.refusal = e.Predictor.ExplainConflict(ctx, e.Server, &t.Prediction, conflict)
		return nil
	}
	return err
}

// guess reports what a client-side dry run knows: what would be sent.
func (e *Engine) guess(t *target) {
	did := event.Configured
	if t.Live == nil {
		did = event.Created
	}
	e.finish(event.Applied{
		Ref: t.Item.Ref, Source: t.Item.Source, Action: did,
		Yielded: t.Yielded, Left: t.Left,
	})
}
