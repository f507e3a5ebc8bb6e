package wait

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// compile compiles the goals for the kinds that are known, so that a slip is reported
// before the wait begins. Nothing is known of a kind that is not served yet; only the form
// of its conditions is checked.
func (r *run) compile(ctx context.Context) error {
	var faults []error
	for _, v := range r.views {
		var err error
		if v.compiled, err = r.compileAll(ctx, v.kind, v.goals()); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// plan says what is waited for, as far as it has names.
func (r *run) plan() {
	phase := event.Phase{Name: "waiting", Total: len(r.items)}
	for _, it := range r.items {
		phase.Refs = append(phase.Refs, it.ref)
	}
	within := max(0, r.Timeout)
	if len(r.Limits) > 0 { // It may be more.
		within = 0
	}
	r.emit(event.Planned{Phases: []event.Phase{phase}, Within: within})
	r.emit(event.PhaseStarted{})
}

// follow waits until everything is met, something failed, or the time is over.
func (r *run) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	messages := make(chan message, 64)
	watches := newGroup(ctx, messages)
	defer func() { cancel(); watches.Wait() }()
	for _, v := range r.views {
		watches.start(func(tell func(message)) { r.Engine.follow(ctx, v, tell) })
	}
	var deadline, existence <-chan time.Time
	if r.Timeout > 0 {
		deadline = time.After(r.Timeout)
	}
	if r.Existence != nil {
		existence = time.After(*r.Existence)
	}
	asking, stop := r.asking()
	defer stop()
	for !r.finished() {
		select {
		case <-asking:
			r.ask(ctx, watches)
		case m := <-messages:
			for _, v := range r.receive(ctx, m) {
				watches.start(func(tell func(message)) { r.Engine.follow(ctx, v, tell) })
			}
		case it := <-r.rechecks:
			r.evaluate(ctx, it)
		case <-r.flush:
			r.say()
			r.tellMissing(ctx, watches)
		case <-existence: // There may be nothing left to wait for.
		case <-deadline:
			left := r.timeUp(ctx)
			if left == 0 {
				r.timedOut = true
				return
			}
			deadline = time.After(left)
		case <-ctx.Done():
			return
		}
		if len(r.expired) > 0 && !r.finished() { // Otherwise they are reported with the rest.
			r.tellExpired(ctx, watches)
		}
	}
}

// finished reports whether nothing is left to wait for.
func (r *run) finished() bool {
	open := false
	for _, v := range r.views {
		if !v.settled() && (!r.stop || v.blind == nil) {
			return false
		}
		open = open || v.pending > 0 && v.ended == nil
	}
	switch {
	case r.stop:
		return true
	case r.pending > 0:
		return !open
	case r.met > 0 || r.named > 0:
		return true
	default: // Selectors match nothing, or nothing any more.
		return !r.selects() || r.left == 0 && !r.awaitsFirst()
	}
}

// selects reports whether more may come to match a selector.
func (r *run) selects() bool { return slices.ContainsFunc(r.views, (*view).selecting) }

// awaitsFirst reports whether the run waits for the first object that matches a selector.
func (r *run) awaitsFirst() bool {
	for _, v := range r.views {
		if v.ended == nil && v.goal != nil && !v.goal.waitsFor(condition.Delete) &&
			(r.Existence != nil && r.now().Sub(r.began) < *r.Existence || v.goal.waitsFor(condition.Create)) {
			return true
		}
	}
	return false
}

// Check finds fault with conditions, as Run would before it waits.
func (e *Engine) Check(ctx context.Context, targets []Target) error {
	return newRun(e, targets).compile(ctx)
}

// Run waits until every object met its goal. Conditions that do not compile for
// one of the kinds are an error before anything is waited for. Else it returns an
// *[UnmetError] if not all of it was met, a *[NothingError] if a selector matches
// nothing, and ctx's error when it was interrupted.
//
// The first object that fails ends the wait for all.
func (e *Engine) Run(ctx context.Context, targets []Target) error {
	r := newRun(e, targets)
	if err := r.compile(ctx); err != nil {
		return err
	}
	r.plan()
	if e.Timeout != 0 {
		r.follow(ctx)
	}
	if ctx.Err() == nil && (e.Timeout == 0 || r.timedOut) {
		r.evaluateOnce(ctx)
	}
	return r.finish(ctx)
}
