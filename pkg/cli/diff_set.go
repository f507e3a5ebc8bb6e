package cli

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/past"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// diffSet compares the plan as a set, using compare: it also shows what would leave the
// set.
func (o *diffOptions) diffSet(
	ctx context.Context, c *connection.Connection, client *cluster.Client, p *plan.Plan, compare func(context.Context) error,
) error {
	namespace, _, err := c.Namespace()
	if err != nil {
		return err
	}
	run := &sets.Run{Server: client, Namespace: namespace, DryRun: object.DryRunClient, Manager: o.engine.Predictor.Manager, Former: past.Promised(client), Emit: o.emit}
	if err := o.set.Begin(ctx, run, p); err != nil {
		return err
	}
	o.engine.Predictor.Take = append(o.engine.Predictor.Take, o.set.Take()...)
	o.engine.Admit = run.Admit
	compared := compare(ctx)
	if ctx.Err() != nil {
		return compared
	}
	leaves := false
	if err := run.Leaving(ctx, func(ctx context.Context, doomed []applyset.Member) error {
		leaves = true
		return sets.Show(ctx, client, doomed, o.emit)
	}); err != nil {
		return err
	}
	if compared == nil && leaves {
		return diff.ErrDiffers
	}
	return compared
}
