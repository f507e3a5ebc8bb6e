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

// found is what a read found of the items of a phase that are not settled.
type found struct {
	// targets are objects that are there, and leave something to do or to ask.
	targets []*target
	// absent are those that are not there. They can be in no conflict, and what is to be
	// sent of them is worked out when their turn comes.
	absent []*plan.Item
}

// read reads the live objects and classifies them. An unchanged object is reported at once and
// forgotten, so that a large set which did not change costs no memory.
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

// cannotExist reports whether this run has created the CRD of the item's kind, which
// was not there before: nor were its objects, then. Should another client have been faster
// since, the create, which is bound to nothing being there, finds out.
func (e *Engine) cannotExist(item *plan.Item) bool {
	if e.DryRun != object.DryRunNone || item.Kind.Resource == "" {
		return false
	}
	name := item.Kind.Resource + "." + item.GVK.Group
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool {
		return need.Kind == definitionKind && need.Name == name && e.done.action(need) == event.Created
	})
}

// errTerminating: nothing can be created in a namespace that goes (edge case 19).
var errTerminating error = &predict.RefusedError{
	Err:    errors.New("the namespace is being deleted"),
	Advice: "wait until it is gone, then apply again",
}

// classify settles what is to be done about an object that is there; nil means that nothing
// is left.
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

// evaluate is classify for an object that may be there, or not.
func (e *Engine) evaluate(ctx context.Context, item plan.Item, live *unstructured.Unstructured) *target {
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
	return &target{Prediction: p}
}

// predictor is the one for an item. If this run changed the CRD of its kind, the
// server may still publish the schema from before; then only the server can tell.
func (e *Engine) predictor(item plan.Item) predict.Predictor {
	p := e.Predictor
	for _, need := range item.Needs {
		if action := e.done.action(need); need.Kind == definitionKind && (action == event.Created || action == event.Configured) {
			p.Schema = nil
		}
	}
	return p
}

// predictorOf is the one for a target, with what was decided of it.
func (e *Engine) predictorOf(t *target) predict.Predictor {
	p := e.predictor(t.Item)
	p.Take, p.Yield = slices.Concat(t.take, p.Take), slices.Concat(t.yield, p.Yield)
	return p
}

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
