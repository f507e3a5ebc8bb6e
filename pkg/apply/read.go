package apply

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
)

// found contains the items of a phase that need more than a read.
type found struct {
	// targets are the items that exist and need a write or a dry run.
	targets []*target
	// absent are the items that do not exist, so that they have no conflicts. They are evaluated
	// when they are written.
	absent []*plan.Item
}

// read reads and classifies the live objects. It reports an unchanged object at once and does not
// keep it, so that a large unchanged set needs little memory.
func (e *Engine) read(ctx context.Context, items []*plan.Item) found {
	var mu sync.Mutex
	var out found
	possible := make([]*plan.Item, 0, len(items))
	for _, item := range items {
		if e.cannotExist(item) {
			out.absent = append(out.absent, item)
			continue
		}
		possible = append(possible, item)
	}
	e.reads.Items(ctx, possible, func(item *plan.Item, live *unstructured.Unstructured, err error) {
		if live == nil && err == nil {
			mu.Lock()
			defer mu.Unlock()
			out.absent = append(out.absent, item)
			return
		}
		if t := e.classify(ctx, *item, live, err); t != nil {
			mu.Lock()
			defer mu.Unlock()
			out.targets = append(out.targets, t)
		}
	})
	return out
}

// cannotExist reports whether this run created the CRD of the item's kind, so that there is no
// object to read. If another client has created the object since, our create fails.
func (e *Engine) cannotExist(item *plan.Item) bool {
	if e.DryRun != object.DryRunNone || item.Kind.Resource == "" {
		return false
	}
	definition := item.Kind.Resource + "." + item.GVK.Group
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool {
		return need.Kind == definitionKind && need.Name == definition && e.done.action(need) == event.Created
	})
}

// errTerminating says that a namespace which is being deleted accepts no new objects
// (edge case 19).
var errTerminating error = &object.HintedError{
	Err:    errors.New("the namespace is being deleted"),
	Advice: "wait until it is gone, then apply again",
}

// classify returns the target for an existing object; nil if the object needs no write.
func (e *Engine) classify(ctx context.Context, item plan.Item, live *unstructured.Unstructured, err error) *target {
	if err != nil {
		e.fail(ctx, item, predict.DeniedRead(item, err))
		return nil
	}
	if e.Admit != nil {
		if err := e.Admit(item, live); err != nil {
			e.done.bar()
			e.fail(ctx, item, err)
			return nil
		}
	}
	return e.evaluate(ctx, item, live)
}

// evaluate is like classify, for an object that may not exist.
func (e *Engine) evaluate(ctx context.Context, item plan.Item, live *unstructured.Unstructured) *target {
	p, reviewed, err := e.prediction(item, live)
	if err != nil {
		e.fail(ctx, item, err)
		return nil
	}
	if live != nil && live.GetDeletionTimestamp() != nil {
		if item.GVK.Group == "" && item.GVK.Kind == "Namespace" {
			e.fail(ctx, item, errTerminating)
			return nil
		}
		e.emit(event.Warned{Ref: item.Ref, Text: predict.Terminating})
	}
	if p.Verdict == noop.Unchanged {
		e.seen(item, live, live, false)
		e.finish(event.Applied{
			Ref: item.Ref, Source: item.Source, Action: event.Unchanged,
			Yielded: p.Yielded, Left: p.Left, Object: e.shown(live),
		})
		return nil
	}
	return &target{Prediction: p, bound: e.Review != nil, reviewed: reviewed}
}

// predictor returns the Predictor for an item. If this run changed the CRD of the item's kind, the
// Predictor does not use the published schema, which may be the old one.
func (e *Engine) predictor(item plan.Item) predict.Predictor {
	p := e.Predictor
	if e.changedCRD(item, event.Created, event.Configured) {
		p.Schema = nil
	}
	return p
}

// changedCRD reports whether the CRD of the item's kind has one of the actions as its result in
// this run.
func (e *Engine) changedCRD(item plan.Item, actions ...event.Action) bool {
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool {
		return need.Kind == definitionKind && slices.Contains(actions, e.done.action(need))
	})
}

// predictorOf returns the Predictor for a target, with the user's decisions.
func (e *Engine) predictorOf(t *target) predict.Predictor {
	p := e.predictor(t.Item)
	p.Take, p.Yield = slices.Concat(t.take, p.Take), slices.Concat(t.yield, p.Yield)
	return p
}

// inspect evaluates a phase that is not written because an earlier phase is in conflict, so that
// one run shows every conflict. Absent objects have no conflicts, nor do objects whose kind is not
// served yet.
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

// holdBack reports the conflicts of a phase that is not written, and skips the other objects of the
// phase.
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

// ask sends dry runs for the targets whose result the live object does not decide. It returns the
// targets that are still to be written.
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

// askOne predicts one target. The target is done if nothing would change, or if the server refuses
// it.
func (e *Engine) askOne(ctx context.Context, t *target) {
	var err error
	if !t.reviewed {
		err = e.predict(ctx, t)
	}
	switch {
	case err != nil && e.mustRecreate(ctx, t, err): // The write will recreate the object.
	case err != nil:
		t.done = true
		e.fail(ctx, t.Item, e.predictorOf(t).Explain(ctx, e.Server, &t.Prediction, err))
	case !t.contested() && t.NoChange():
		t.done = true
		e.accepted(ctx, t, t.Answer)
	}
}

// predict asks the server for the result of the apply.
func (e *Engine) predict(ctx context.Context, t *target) error {
	err := e.predictorOf(t).Ask(ctx, e.Server, &t.Prediction)
	if conflict, ok := errors.AsType[*predict.ConflictError](err); ok {
		t.Conflicts = conflict.Conflicts
		t.refusal = e.predictorOf(t).ExplainConflict(ctx, e.Server, &t.Prediction, conflict)
		return nil
	}
	return err
}

// guess reports the manifest that would be sent, for a client-side dry run.
func (e *Engine) guess(_ context.Context, t *target) {
	did := event.Configured
	if t.Live == nil {
		did = event.Created
	}
	e.finish(t.applied(did))
}
