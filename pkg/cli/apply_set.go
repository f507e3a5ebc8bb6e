package cli

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// applySet applies the plan as a set: its objects become members, and what left the set
// is pruned once all of them are applied, as apply does it.
func (o *applyOptions) applySet(
	ctx context.Context, c *connection.Connection, client *cluster.Client, p *plan.Plan, apply func(context.Context) error,
) error {
	namespace, _, err := c.Namespace()
	if err != nil {
		return err
	}
	run := &sets.Run{
		Server: client, Namespace: namespace, DryRun: o.engine.DryRun, Manager: o.engine.Predictor.Manager,
		Ask: o.ask, Emit: o.out.Print,
		Delete: func(ctx context.Context, set *sets.Set, doomed []applyset.Member) error {
			phases, err := sets.Phases(ctx, client, set, doomed)
			if err != nil {
				return err
			}
			return deleteMembers(ctx, c, o.run, client, o.engine.DryRun, sets.Pruned(o.out.Print), phases)
		},
	}
	if err := o.set.Begin(ctx, run, p); err != nil {
		return err
	}
	o.engine.Predictor.Take = append(o.engine.Predictor.Take, o.set.Take()...)
	emit := o.engine.Emit
	o.engine.Admit, o.engine.Emit = run.Admit, func(e event.Event) { emit(run.Mark(e)) }
	return run.End(ctx, apply(ctx), o.input.LeftOut())
}

// deleteMembers deletes members of a set by delete's engine.
func deleteMembers(
	ctx context.Context, c *connection.Connection, run string, client *cluster.Client, dryRun object.DryRun,
	emit func(event.Event), phases []deletion.Phase,
) error {
	const pace = 0 // as the server allows
	patient, err := c.Patient(toleratedOutage).Connect(ctx, run, pace, emit)
	if err != nil {
		return err
	}
	engine := deletion.Engine{
		First: client, Server: patient, Counter: patient, DryRun: dryRun, Wait: true, IgnoreAbsent: true,
		Timeout: sets.Timeout, Emit: emit,
		Explainer: &stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: client.NoRetry(), Now: client.Now}},
	}
	return engine.Run(ctx, phases)
}
