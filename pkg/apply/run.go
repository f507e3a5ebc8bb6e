package apply

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// Run executes the plan. It returns an *IncompleteError if some objects were not applied.
func (e *Engine) Run(ctx context.Context, p *plan.Plan) error {
	planned := event.Planned{Phases: make([]event.Phase, len(p.Phases))}
	for i, ph := range p.Phases {
		planned.Phases[i] = event.Phase{Name: ph.Name, Total: len(ph.Items), Refs: ph.Refs()}
	}
	e.emit(planned)
	if e.reads, e.Prefetched = e.Prefetched, nil; e.reads == nil {
		e.reads = prefetch.Start(ctx, e.Server, p)
	}
	defer e.reads.Close()

	var blocked, unready error
	for i, ph := range p.Phases {
		if blocked == nil {
			if unready = e.gate(ctx, p, i); unready != nil {
				blocked = errNotReady
			}
		}
		if blocked == nil && ctx.Err() != nil {
			blocked = context.Cause(ctx)
		}
		switch {
		case blocked == nil:
			e.emit(event.PhaseStarted{Index: i})
			if !e.phase(ctx, ph) {
				blocked = errPhaseBefore
				if e.done.isBarred() {
					blocked = errRefusedBefore
				}
			}
		case e.looking && ctx.Err() == nil:
			e.emit(event.PhaseStarted{Index: i})
			e.inspect(ctx, ph, blocked)
		default:
			for _, item := range ph.Items {
				e.skip(item, blocked)
			}
		}
	}
	if unready == nil && e.done.counts() == (Outcome{}) {
		unready = e.await(ctx, p.Phases, func(object.Key) bool { return true })
	}
	switch {
	case unready != nil:
		return unready
	case ctx.Err() != nil && !e.left:
		return context.Cause(ctx)
	}
	if outcome := e.done.counts(); outcome != (Outcome{}) {
		return &IncompleteError{outcome}
	}
	return nil
}

// phase returns false if the phase was not written because of a conflict or a refusal by Admit.
func (e *Engine) phase(ctx context.Context, ph plan.Phase) bool {
	f := e.read(ctx, e.resolve(ctx, ph.Items))
	if e.DryRun == object.DryRunClient {
		e.announce(f.targets)
		e.finishEach(ctx, f, e.guess)
		f = found{}
	}
	f.targets = e.decide(ctx, ph, e.dryRun(ctx, f.targets))
	switch contested := slices.ContainsFunc(f.targets, (*target).contested); {
	case contested && e.ContinueOnConflict:
		f.targets = slices.DeleteFunc(f.targets, func(t *target) bool {
			if t.contested() {
				e.conflict(t)
			}
			return t.done
		})
	case contested:
		e.looking = true
		e.holdBack(ctx, f, errSamePhase)
		return false
	case e.done.isBarred() && !e.ContinueOnConflict:
		e.looking = true
		e.holdBack(ctx, f, errRefusedBeside)
		return false
	}
	e.announce(f.targets)
	do := e.write
	switch {
	case e.DryRun == object.DryRunServer:
		do = e.try
	case len(f.targets)+len(f.absent) > 0:
		e.reads.Stale()
	}
	for late := e.finishEach(ctx, f, do); len(late) > 0; {
		late = e.decideLate(ctx, ph, late)
		e.concurrently(ctx, late, do)
	}
	return true
}

func (e *Engine) announce(targets []*target) {
	if e.OnPhase == nil || len(targets) == 0 {
		return
	}
	all := make([]*predict.Prediction, len(targets))
	for i, t := range targets {
		all[i] = &t.Prediction
	}
	e.OnPhase(all)
}

// side is the number of objects that are processed concurrently. It limits the number of objects in
// memory. The client limits the request rate.
const side = 256

func (e *Engine) concurrently(ctx context.Context, targets []*target, do func(context.Context, *target)) {
	var g errgroup.Group
	g.SetLimit(side)
	for _, t := range targets {
		g.Go(func() error {
			e.process(ctx, t, do)
			return nil
		})
	}
	_ = g.Wait()
}

// finishEach does the last step of a phase for each target, concurrently. It also evaluates absent
// objects, and returns the targets with late conflicts.
func (e *Engine) finishEach(ctx context.Context, f found, do func(context.Context, *target)) (late []*target) {
	var mu sync.Mutex
	finish := func(t *target) {
		e.process(ctx, t, do)
		if t.late {
			mu.Lock()
			defer mu.Unlock()
			late = append(late, t)
		}
	}
	var g errgroup.Group
	g.SetLimit(side)
	for i, t := range f.targets {
		f.targets[i] = nil
		g.Go(func() error {
			finish(t)
			return nil
		})
	}
	for i, planned := range f.absent {
		f.absent[i] = nil
		g.Go(func() error {
			if t := e.evaluate(ctx, *planned, nil); t != nil {
				finish(t)
			}
			return nil
		})
	}
	_ = g.Wait()
	return late
}

func (e *Engine) process(ctx context.Context, t *target, do func(context.Context, *target)) {
	if ctx.Err() != nil {
		t.done = true
		e.skip(t.Item, context.Cause(ctx))
		return
	}
	do(ctx, t)
}

// try reports the outcome of a server-side dry run. The server cannot check an object that needs another one
// which the set would create.
func (e *Engine) try(ctx context.Context, t *target) {
	out := event.Applied{Ref: t.Item.Ref, Source: t.Item.Source, Action: event.Created}
	if t.Live == nil && e.done.created(t.Item) {
		out.Reason = e.unchecked(t.Item)
		e.seen(t.Item, nil, t.Item.Object, true)
		e.finish(out)
		return
	}
	if t.Answer == nil && t.Unchecked == "" && t.anew == nil {
		if e.askOne(ctx, t); t.done {
			return
		}
	}
	switch {
	case t.anew != nil:
		out.Action, out.Reason, out.Removed = event.Recreated, t.anew.Reason, redact.Changes(t.Item.Ref, t.anew.Lost)
		e.finish(out)
	case t.contested():
		e.conflict(t)
	case t.Unchecked != "":
		out.Action, out.Reason, out.Yielded, out.Left = event.Configured, t.Unchecked, t.Yielded, t.Left
		out.Adopted = t.AdoptedFrom()
		for _, c := range redact.Conflicts(t.Item.Ref, slices.Concat(t.Taken, t.Overwritten)) {
			out.Taken = append(out.Taken, c.Change())
		}
		e.finish(out)
	default:
		e.accepted(ctx, t, t.Answer)
	}
}
