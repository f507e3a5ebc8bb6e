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

// rounds bounds how often it is asked about conflicts that are new since the answers before. The
// bound is for decisions that were made in advance: a user would stop sooner. Nothing is written
// between two rounds, so there is no other writer to wait for, as there is at a write.
const rounds = 5

// decide asks about the targets in conflict until all are decided, or some are not. Those that
// are, are predicted anew, so that they are as if the flags had said so. It returns the targets
// that are not done.
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
			// A user who stops a run at a prompt leaves the conflict, which was reported by then.
			e.left = errors.Is(context.Cause(ctx), context.Canceled)
			break
		}
		var decided []*target
		for i, t := range open {
			if t.undecided = !t.decided(decisions[i]); !t.undecided {
				decided = append(decided, t)
			}
		}
		e.each(ctx, decided, e.askAgain)
	}
	return slices.DeleteFunc(targets, (*target).isDone)
}

// decideLate asks about targets that turned out to be in conflict as they were written, and
// returns those that are decided. The others are reported.
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
		return t.done
	})
}

// inConflict returns the targets in conflict to ask about, in the order of the plan.
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

// decided notes decisions about the conflicts of a target, and reports whether they are
// complete. Decisions about what is contested no more stand: a yield does no harm, and
// what was taken is bound to what was seen.
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

// askAgain looks at a target anew, now that it is decided: the object may have changed, or be
// another one, while a user was thinking.
func (e *Engine) askAgain(ctx context.Context, t *target) {
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

// Contested is an object in conflict, as it may be shown: values of Secrets are masked.
type Contested struct {
	Ref object.Ref
	// Conflicts, at least one.
	Conflicts []managedfields.Conflict
	// Unleavable: see [predict.Offers].
	Unleavable []fieldpath.Path
	// Refusal is why the server would refuse the object also if all of it were taken; nil
	// where it would not, or was not asked.
	Refusal error
}

// Decision is what becomes of one conflict.
type Decision string

const (
	// Undecided leaves the object in conflict.
	Undecided Decision = ""
	// Take makes the path ours: this value of these owners. If either has changed, the
	// path is contested again.
	Take Decision = "take"
	// Leave leaves the path to its owners.
	Leave Decision = "leave"
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

// await hands those of the objects that were applied to Wait.
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
