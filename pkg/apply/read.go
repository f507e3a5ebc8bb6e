package apply

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
)

type found struct {
	targets []*target
	// absent holds objects that do not exist and so have no conflicts. They are evaluated when they
	// are written.
	absent []*plan.Item
}

// read reads the items and returns those that may need a write. It reports unchanged objects at
// once and does not keep them, to save memory.
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

// cannotExist reports whether this run created the CRD of the item's kind. In that case, no object
// of the kind should exist yet. If another client has created the object since then, our create
// fails.
func (e *Engine) cannotExist(item *plan.Item) bool {
	if e.DryRun != object.DryRunNone || item.Kind.Resource == "" {
		return false
	}
	definition := item.Kind.Resource + "." + item.GVK.Group
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool {
		return need.Kind == definitionKind && need.Name == definition && e.done.action(need) == event.Created
	})
}

var errTerminating error = &object.HintedError{
	Err:    errors.New("the namespace is being deleted"),
	Advice: "wait until it is gone, then apply again",
}

// classify returns nil if the object needs no write.
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
	if text, detail := p.UnboundText(); text != "" {
		e.emit(event.Warned{Ref: item.Ref, Text: text, Detail: detail})
	}
	if p.Verdict == noop.Unchanged {
		e.seen(item, live, live, false)
		e.finish(event.Applied{
			Ref: item.Ref, Source: item.Source, Action: event.Unchanged,
			Yielded: p.Yielded, Left: p.Left, Object: e.shown(live),
		})
		return nil
	}
	if err := e.Predictor.Orphaned(ctx, e.Server, &p); err != nil {
		e.fail(ctx, item, err)
		return nil
	}
	return &target{Prediction: p, bound: e.Review != nil, reviewed: reviewed}
}

// predictor returns the Predictor for an item. It does not use the published schema if this run
// changed the CRD, because that schema may be outdated.
func (e *Engine) predictor(item plan.Item) predict.Predictor {
	p := e.Predictor
	if e.changedCRD(item, event.Created, event.Configured) {
		p.Schema = nil
	}
	return p
}

func (e *Engine) changedCRD(item plan.Item, actions ...event.Action) bool {
	return slices.ContainsFunc(item.Needs, func(need object.Key) bool {
		return need.Kind == definitionKind && slices.Contains(actions, e.done.action(need))
	})
}

func (e *Engine) predictorOf(t *target) predict.Predictor {
	p := e.predictor(t.Item)
	p.Take, p.Yield = slices.Concat(t.take, p.Take), slices.Concat(t.yield, p.Yield)
	return p
}

// inspect checks a phase that will not be written, so that one run shows every conflict.
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

func (e *Engine) holdBack(ctx context.Context, f found, why error) {
	var unasked []*target
	for _, t := range f.targets {
		if t.Answer == nil && t.Unchecked == "" && !t.contested() {
			unasked = append(unasked, t)
		}
	}
	e.concurrently(ctx, unasked, e.askOne)
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

// sample is the number of dry runs that show whether admission rewrites what a phase changes. A
// phase that changes more objects in earnest pays for this number only.
const sample = 16

// patience limits a dry run that only saves a write: without an answer in time, the object is written.
// Otherwise an object whose webhook hangs would hold up the writes of its phase.
const patience = 5 * time.Second

// dryRun sends a dry run for each target whose result cannot be determined from the live object. It
// returns the targets to write.
//
// If nothing but values of our own fields differ, either the manifest has changed, or admission
// rewrites the values each time, which would be a write in each run. If a sample of these targets
// would not change, dryRun sends one for all of them.
func (e *Engine) dryRun(ctx context.Context, targets []*target) []*target {
	var doubtful, valued []*target
	for _, t := range targets {
		switch {
		case t.Verdict == noop.Doubtful || t.Verdict == noop.Contested:
			doubtful = append(doubtful, t)
		case e.DryRun == object.DryRunNone && e.Review == nil && noop.OnlyValues(t.Live, t.Body, e.Predictor.Manager):
			valued = append(valued, t)
		}
	}
	first := min(sample, len(valued))
	ask := func(ctx context.Context, t *target) {
		if t.Verdict == noop.Doubtful || t.Verdict == noop.Contested {
			e.askOne(ctx, t)
		} else {
			e.askBriefly(ctx, t)
		}
	}
	e.concurrently(ctx, slices.Concat(doubtful, valued[:first]), ask)
	if slices.ContainsFunc(valued[:first], (*target).isDone) {
		e.concurrently(ctx, valued[first:], e.askBriefly)
	}
	return slices.DeleteFunc(targets, (*target).isDone)
}

func (e *Engine) askOne(ctx context.Context, t *target) {
	var err error
	if !t.reviewed {
		err = e.predict(ctx, t)
	}
	switch {
	case err != nil && e.mustRecreate(ctx, t, err):
	case err != nil:
		t.done = true
		e.fail(ctx, t.Item, e.predictorOf(t).Explain(ctx, e.Server, &t.Prediction, err))
	default:
		e.acceptUnchanged(ctx, t)
	}
}

// askBriefly is like askOne, but leaves the target to be written if there is no answer in time, or a
// refusal: some webhooks refuse every dry run, and the write itself shows any other refusal.
func (e *Engine) askBriefly(ctx context.Context, t *target) {
	before := t.Prediction
	brief, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := e.predict(brief, t); err != nil {
		t.Prediction = before
		return
	}
	e.acceptUnchanged(ctx, t)
}

// acceptUnchanged ends the target if its dry run shows that a write would change nothing.
func (e *Engine) acceptUnchanged(ctx context.Context, t *target) {
	if !t.contested() && t.NoChange() {
		t.done = true
		e.accepted(ctx, t, t.Answer)
	}
}

func (e *Engine) predict(ctx context.Context, t *target) error {
	err := e.predictorOf(t).Ask(ctx, e.Server, &t.Prediction)
	if conflict, ok := errors.AsType[*predict.ConflictError](err); ok {
		t.Conflicts = conflict.Conflicts
		t.refusal = e.predictorOf(t).ExplainConflict(ctx, e.Server, &t.Prediction, conflict)
		return nil
	}
	return err
}

func (e *Engine) guess(_ context.Context, t *target) {
	did := event.Configured
	if t.Live == nil {
		did = event.Created
	}
	e.finish(t.applied(did))
}
