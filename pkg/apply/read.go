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
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
)

// found holds the items of a phase that need more than a read.
type found struct {
	// targets exist and need a write or a question.
	targets []*target
	// absent do not exist, so they are in no conflict. Their manifests are prepared when they are
	// written.
	absent []*plan.Item
}

// read reads the live objects and classifies them. It reports an unchanged object at once and drops
// it, so that a large unchanged set costs no memory.
func (e *Engine) read(ctx context.Context, items []*plan.Item) found {
	var (
		mu   sync.Mutex
		out  found
		wait sync.WaitGroup
	)
	groups := map[schema.GroupVersionKind][]*plan.Item{}
	for _, item := range items {
		if e.cannotExist(item) {
			out.absent = append(out.absent, item)
			continue
		}
		groups[item.GVK] = append(groups[item.GVK], item)
	}
	for _, group := range groups {
		wait.Go(func() {
			refs := make([]object.Ref, len(group))
			for i, item := range group {
				refs[i] = item.Ref
			}
			e.reads.Live(ctx, group[0].Kind, refs, func(i int, live *unstructured.Unstructured, err error) {
				if live == nil && err == nil {
					mu.Lock()
					defer mu.Unlock()
					out.absent = append(out.absent, group[i])
					return
				}
				t := e.classify(ctx, *group[i], live, err)
				if t != nil {
					mu.Lock()
					defer mu.Unlock()
					out.targets = append(out.targets, t)
				}
			})
		})
	}
	wait.Wait()
	return out
}

// cannotExist reports whether this run created the CRD of the item's kind, so that no object of it
// was there to read. If another client has created one since, the create fails, because it requires
// that there is none.
func (e *Engine) cannotExist(item *plan.Item) bool {
	if e.DryRun != object.DryRunNone || item.Kind.Resource == "" {
		return false
	}
	name := item.Kind.Resource + "." + item.GVK.Group
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool {
		return need.Kind == definitionKind && need.Name == name && e.done.action(need) == event.Created
	})
}

// errTerminating: a namespace that is being deleted accepts no new objects (edge case 19).
var errTerminating error = &object.HintedError{
	Err:    errors.New("the namespace is being deleted"),
	Advice: "wait until it is gone, then apply again",
}

// classify decides what to do about an object that exists; nil means nothing.
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

// evaluate is classify for an object that may not exist.
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

// predictor returns the Predictor for an item. If this run changed the CRD of its kind, the
// published schema may be the old one, so only the server is asked.
func (e *Engine) predictor(item plan.Item) predict.Predictor {
	p := e.Predictor
	if e.defines(item) {
		p.Schema = nil
	}
	return p
}

// defines reports whether this run changed the CRD of the item's kind.
func (e *Engine) defines(item plan.Item) bool {
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool {
		action := e.done.action(need)
		return need.Kind == definitionKind && (action == event.Created || action == event.Configured)
	})
}

// predictorOf is the one for a target, with what was decided of it.
func (e *Engine) predictorOf(t *target) predict.Predictor {
	p := e.predictor(t.Item)
	p.Take, p.Yield = slices.Concat(t.take, p.Take), slices.Concat(t.yield, p.Yield)
	return p
}

// inspect evaluates a phase that is not written because an earlier one is in conflict, so that one
// run shows every conflict. Objects that do not exist, or whose kind is not served yet, are in no
// conflict.
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

// holdBack reports objects of which none is written: the conflicts, and for the others whether they
// would change.
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

// ask sends a dry run for the targets that cannot be decided from the live object, and returns
// those left to write.
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

// askOne asks about one target, which is done if nothing would change or the server refuses it.
func (e *Engine) askOne(ctx context.Context, t *target) {
	var err error
	if !t.reviewed {
		err = e.predict(ctx, t)
	}
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

// guess reports a client-side dry run: the manifest that would be sent.
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
