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

// cannotExist reports whether this run has created the definition of the item's kind, which
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
		e.emit(event.Warned{Ref: item.Ref, Text: "is being deleted; what is applied to it is deleted with it"})
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

// predictor is the one for an item. If this run changed the definition of its kind, the
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
