package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// rounds limits the number of calls to Decide for new conflicts. Only automatic decisions can reach
// the limit.
const rounds = 5

// decide asks Decide about the targets in conflict until all are decided or Decide leaves some
// open. It returns the targets that are not done yet.
func (e *Engine) decide(ctx context.Context, ph plan.Phase, targets []*target) []*target {
	if e.Decide == nil || e.DryRun != object.DryRunNone {
		return targets
	}
	for range rounds {
		open := inConflict(ph, targets)
		if len(open) == 0 || ctx.Err() != nil {
			break
		}
		all := make([]Contested, len(open))
		for i, t := range open {
			offers := offersOf(e.predictorOf(t), t)
			all[i] = Contested{t.Item.Ref, redact.Conflicts(t.Item.Ref, t.Conflicts), offers.Unleavable, redact.Error(t.Item.Object, t.refusal)}
		}
		decisions := e.Decide(ctx, all)
		if ctx.Err() != nil {
			e.left = errors.Is(context.Cause(ctx), context.Canceled)
			break
		}
		var decided []*target
		for i, t := range open {
			if t.undecided = !t.decided(decisions[i]); !t.undecided {
				decided = append(decided, t)
			}
		}
		e.concurrently(ctx, decided, e.askAgain)
	}
	return slices.DeleteFunc(targets, (*target).isDone)
}

// decideLate calls decide for the targets whose writes ran into a conflict. It reports the targets
// that remain in conflict, and returns the targets to write again.
func (e *Engine) decideLate(ctx context.Context, ph plan.Phase, written []*target) []*target {
	var late []*target
	for _, t := range written {
		if t.late {
			t.late = false
			late = append(late, t)
		}
	}
	return slices.DeleteFunc(e.decide(ctx, ph, late), func(t *target) bool {
		if t.contested() {
			e.conflict(t)
		}
		if t.done {
			e.returnSurplus(ctx, t)
		}
		return t.done
	})
}

func inConflict(ph plan.Phase, targets []*target) []*target {
	var open []*target
	for _, t := range targets {
		if !t.done && !t.undecided && t.contested() {
			open = append(open, t)
		}
	}
	if len(open) < 2 {
		return open
	}
	places := make(map[object.Key]int, len(ph.Items))
	for i, item := range ph.Items {
		places[item.Key()] = i
	}
	slices.SortStableFunc(open, func(a, b *target) int { return places[a.Item.Key()] - places[b.Item.Key()] })
	return open
}

func (t *target) decided(decisions []Decision) bool {
	if len(decisions) != len(t.Conflicts) || slices.Contains(decisions, Undecided) {
		return false
	}
	for i, c := range t.Conflicts {
		choice := predict.Choice{Path: fieldpath.Pattern(c.Path)}
		t.take = slices.DeleteFunc(t.take, func(earlier predict.Choice) bool { return earlier.Of.Path.Equal(c.Path) })
		if decisions[i] == Leave {
			t.yield = append(t.yield, choice)
			continue
		}
		choice.Of = &c
		t.take = append(t.take, choice)
	}
	return true
}

func (e *Engine) askAgain(ctx context.Context, t *target) {
	t.reviewed = false
	p := e.predictorOf(t)
	if err := p.Refresh(ctx, e.Server, &t.Prediction); err != nil {
		t.done = true
		e.fail(ctx, t.Item, p.Explain(ctx, e.Server, &t.Prediction, err))
		return
	}
	if t.Live != nil && e.Admit != nil {
		if err := e.Admit(t.Item, t.Live); err != nil {
			t.done = true
			e.done.bar()
			e.fail(ctx, t.Item, err)
			return
		}
	}
	e.askOne(ctx, t)
}

// Contested is an object in conflict. The values of Secrets are masked.
type Contested struct {
	Ref       object.Ref
	Conflicts []managedfields.Conflict
	// Unleavable lists the contested paths that cannot be left to their owners (see
	// [predict.Offers]).
	Unleavable []fieldpath.Path
	// Refusal is the reason why the server would refuse the object even if we took over all
	// contested paths; nil if it would not.
	Refusal error
}

// Decision resolves one conflict.
type Decision string

const (
	// Undecided leaves the object in conflict.
	Undecided Decision = ""
	// Take takes over the path as long as its value and its owners stay the same.
	Take Decision = "take"
	// Leave leaves the path to its owners.
	Leave Decision = "leave"
)

var errNotReady = errors.New("a prerequisite did not become ready")

func (e *Engine) gate(ctx context.Context, p *plan.Plan, next int) error {
	needed := map[object.Key]bool{}
	for _, item := range p.Phases[next].Items {
		for _, need := range item.Needs {
			needed[need] = true
		}
	}
	return e.await(ctx, p.Phases[:next], func(key object.Key) bool { return needed[key] })
}

// await waits for the intended objects of earlier phases. Each object is waited for once in a run,
// although several later phases may need it.
func (e *Engine) await(ctx context.Context, phases []plan.Phase, intended func(object.Key) bool) error {
	if e.Wait == nil || e.DryRun != object.DryRunNone || ctx.Err() != nil {
		return nil
	}
	if e.waited == nil {
		e.waited = map[object.Key]bool{}
	}
	var items []plan.Item
	for _, ph := range phases {
		for _, item := range ph.Items {
			if key := item.Key(); intended(key) && !e.waited[key] && e.done.exists(key) {
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
