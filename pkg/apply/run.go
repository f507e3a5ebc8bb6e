package apply

import (
	"context"
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/prefetch"
)

// Run carries out the plan. It returns an *IncompleteError when some object
// could not be applied, the error of Wait when something did not become ready, and
// ctx's error when it was interrupted.
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
			e.skipAll(ph, blocked)
		}
	}
	if unready == nil {
		unready = e.gateAll(ctx, p)
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

// phase applies the items of one phase. It returns false when they are
// contested and nothing was written.
func (e *Engine) phase(ctx context.Context, ph plan.Phase) bool {
	f := e.read(ctx, e.resolve(ctx, ph.Items))
	if e.DryRun == object.DryRunClient {
		e.finishEach(ctx, f, e.guess)
		f = found{}
	}
	f.targets = e.decide(ctx, ph, e.ask(ctx, f.targets))
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
	do := e.write
	switch {
	case e.DryRun == object.DryRunServer:
		do = e.try
	case len(f.targets)+len(f.absent) > 0:
		e.reads.Stale()
	}
	for late := e.finishEach(ctx, f, do); len(late) > 0; {
		late = e.decideLate(ctx, ph, late)
		e.each(ctx, late, do)
	}
	return true
}
