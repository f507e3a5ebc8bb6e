package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/connection"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/sets"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/stuck"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/restore"
)

// applySet applies the plan as a set, and then prunes. At the end, it runs the callback (back),
// which rolls back a failed run if --atomic was given.
func (o *applyOptions) applySet(
	ctx context.Context, c *connection.Connection, client *client.Client, p *plan.Plan,
	apply func(context.Context) error, back func(context.Context, error) error,
) error {
	namespace, _, err := c.Namespace()
	if err != nil {
		return err
	}
	var told sets.Tally
	o.engine.Emit = told.Counting(o.engine.Emit)
	emit := o.engine.Emit
	run := &sets.Run{
		Server: client, Namespace: namespace, DryRun: o.dryRun, Manager: o.predictor.Manager,
		Ask: o.ask, Emit: emit, Former: sets.Promised(client), Shown: losses(p, emit),
		Delete: func(ctx context.Context, set *sets.Set, d applyset.Decision) ([]applyset.Kept, error) {
			departing, err := sets.Order(ctx, client, set, d)
			if err != nil {
				return nil, err
			}
			engine := deletion.Engine{DryRun: o.dryRun, Emit: o.noting(departing, sets.Pruned(emit))}
			o.awaited.Deletes(&engine)
			err = deleteMembers(ctx, c, o.run, client, &engine, departing.Phases)
			return departing.Stayed(), err
		},
	}
	if o.approve != nil {
		run.Approve = func(ctx context.Context, d applyset.Decision) error { return o.approval(ctx, client, p, run, d) }
	}
	held := ctx
	if o.lock != nil {
		run.Lock = func(ctx context.Context, parent object.Ref, brings func(context.Context) error) (err error) {
			held, err = o.lock.Hold(ctx, client, parent, brings)
			return err
		}
		defer o.lock.Release(ctx)
	}
	if err := o.set.Begin(ctx, run, p); err != nil {
		if verb.IsRefused(err) {
			o.lock.ReleaseUnused(ctx, client, run.Set().Exists)
		}
		return err
	}
	return o.lock.Announce(held, run.Set().Live, p.Len(), &told, func(ctx context.Context) error {
		return o.runSet(ctx, client, p, run, apply, back)
	})
}

// noting records objects that a prune deleted or may have deleted, so that --atomic can restore
// them.
func (o *applyOptions) noting(departing *sets.Leaving, emit func(event.Event)) func(event.Event) {
	if o.journal == nil || o.dryRun != object.DryRunNone {
		return emit
	}
	o.pruned = departing.Plan
	items := map[object.Key]plan.Item{}
	for item := range departing.Plan.Items() {
		items[item.Key()] = item
	}
	return func(e event.Event) {
		if d, ok := e.(event.Deleted); ok && d.Action != event.Absent && d.Action != event.Failed && d.Action != event.Kept {
			if item, known := items[d.Ref.Key()]; known {
				o.journal.Pruned(item, departing.Live[d.Ref.Key()])
			}
		}
		emit(e)
	}
}

// runSet applies the plan, prunes, and records the result. ctx must end when the lock of the set is
// lost.
func (o *applyOptions) runSet(
	ctx context.Context, client *client.Client, p *plan.Plan, run *sets.Run,
	apply func(context.Context) error, back func(context.Context, error) error,
) error {
	o.engine.Predictor.Take = append(o.engine.Predictor.Take, o.set.AdoptionChoices()...)
	emit := o.engine.Emit
	o.engine.Admit, o.engine.Emit = run.Admit, func(e event.Event) { emit(run.Mark(e)) }
	keeper := o.keeper(client, run.Set())
	keeper.Begin(ctx, o.run, p)
	err := back(ctx, run.End(ctx, apply(ctx), o.input.LeftOut()))
	keeper.End(ctx, o.result(err))
	o.lock.Ended(o.result(err))
	return err
}

// deleteMembers deletes the members with the engine of the verb delete.
func deleteMembers(
	ctx context.Context, c *connection.Connection, run string, client *client.Client, engine *deletion.Engine, phases []deletion.Phase,
) error {
	patient, err := c.Patient(verb.ToleratedOutage).Connect(ctx, run, 0, engine.Emit)
	if err != nil {
		return err
	}
	engine.First, engine.Server, engine.Counter = client, patient, patient
	engine.Wait, engine.IgnoreAbsent, engine.Timeout = true, true, sets.Timeout
	engine.Explainer = &stuck.Explainer{Gatherer: diagnose.Gatherer{Reader: client.NoRetry(), Now: client.Now}}
	return engine.Run(ctx, phases)
}

// keeper returns the Keeper that writes the history of the run's set; nil for a run that writes
// nothing.
func (o *applyOptions) keeper(client *client.Client, set *sets.Set) *sets.Keeper {
	if o.dryRun != object.DryRunNone {
		return nil
	}
	return &sets.Keeper{
		Server: client, Parent: set.Record.Parent, Who: sets.Caller(), Keep: o.history, Emit: o.out.Print,
		History: o.lock,
	}
}

// result returns the result to record in the history. A run that skipped input counts as failed, so
// that no rollback restores an incomplete run.
func (o *applyOptions) result(err error) history.Result {
	switch {
	case o.undone:
		return history.RolledBack
	case err != nil, o.input.LeftOut():
		return history.Failed
	default:
		return history.Applied
	}
}

const (
	// interruptedRollbackTimeout is shorter than rollbackTimeout, because a user who stops a
	// program will not wait long.
	rollbackTimeout            = 10 * time.Minute
	interruptedRollbackTimeout = time.Minute
)

// rollBack rolls back a failed run if --atomic was given. If objects were not restored, the exit
// status is 1; the report names them.
func (o *applyOptions) rollBack(ctx context.Context, client *client.Client, p *plan.Plan, failed error) error {
	if failed == nil || o.journal == nil {
		return failed
	}
	groups, err := o.journal.Notes(p, o.pruned)
	if err != nil {
		return errors.Join(failed, fmt.Errorf("nothing was rolled back: %w", err))
	}
	written := 0
	for _, g := range groups {
		written += len(g)
	}
	if written == 0 {
		return failed
	}
	most := rollbackTimeout
	if until, limited := ctx.Deadline(); ctx.Err() != nil || limited && time.Until(until) < time.Second {
		most = interruptedRollbackTimeout
	}
	o.out.Print(event.RollingBack{Err: failed, Objects: written, Within: most})
	// The first interrupt does not end the rollback; a second one ends the program.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), most, fmt.Errorf("the rollback took longer than %s", most))
	defer cancel()
	engine := restore.Engine{
		Server: client, Manager: o.predictor.Manager,
		Remove: remover{client, o.out.Print}.remove, Contents: client.Contents, Emit: o.out.Print,
	}
	if err := engine.Run(ctx, groups); err != nil {
		return verb.Remains(failed)
	}
	o.undone = true
	return failed
}
