package apply

import (
	"context"
	"errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// errNotReady is why objects are skipped whose turn comes after a wait that was not
// met.
var errNotReady = errors.New("a prerequisite did not become ready")

// gate waits until those objects of earlier phases are ready which the phase needs.
// It returns an error if they are not.
func (e *Engine) gate(ctx context.Context, p *plan.Plan, next int) error {
	needed := map[object.Key]bool{}
	for _, item := range p.Phases[next].Items {
		for _, need := range item.Needs {
			needed[need] = true
		}
	}
	return e.await(ctx, p.Phases[:next], func(key object.Key) bool { return needed[key] })
}

// gateAll waits, at the end, for all that was not waited for yet. Where not all
// could be applied there is no point in it.
func (e *Engine) gateAll(ctx context.Context, p *plan.Plan) error {
	if e.done.counts() != (Outcome{}) {
		return nil
	}
	return e.await(ctx, p.Phases, func(object.Key) bool { return true })
}

// await hands the objects that are meant, and that were applied, to Wait.
func (e *Engine) await(ctx context.Context, phases []plan.Phase, meant func(object.Key) bool) error {
	if e.Wait == nil || e.DryRun != object.DryRunNone || ctx.Err() != nil {
		return nil
	}
	if e.waited == nil {
		e.waited = map[object.Key]bool{}
	}
	var items []plan.Item
	for _, ph := range phases {
		for _, item := range ph.Items {
			if key := item.Key(); meant(key) && !e.waited[key] && e.done.there(key) {
				e.waited[key] = true
				items = append(items, item)
			}
		}
	}
	if len(items) == 0 {
		return nil
	}
	return e.Wait(ctx, items)
}
