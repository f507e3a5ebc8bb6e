package apply

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/store"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/preflight"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/removal"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/setrun"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deletion"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// applySet applies the plan as a set, and then prunes. The set's label, promise and lock come first;
// the engine is built once it is known what the run may write.
func (r *run) applySet(ctx context.Context) error {
	namespace, _, err := r.connection.Namespace()
	if err != nil {
		return err
	}
	var counts setrun.Tally
	var reviewedDeletions deletions
	emit := reviewedDeletions.watching(counts.Counting(r.emit))
	member := &setrun.Run{
		Server: r.client, Namespace: namespace, DryRun: r.dryRun, Manager: r.predictor.Manager,
		Ask: r.ask, Emit: emit, Former: setrun.Promised(r.client), Shown: preflight.Losses(r.plan, emit),
		Delete: func(ctx context.Context, set *store.Set, d applyset.Decision) ([]applyset.Kept, error) {
			return r.prune(ctx, set, d, emit)
		},
	}
	r.results.member = member
	var reviewed *lookahead
	if r.Approve != nil {
		member.Approve = func(ctx context.Context, d applyset.Decision) (err error) {
			if reviewed, err = r.approve(ctx, member, d); err == nil && reviewed.held {
				reviewedDeletions.of(d)
			}
			return err
		}
	}
	held := ctx
	if r.lock != nil {
		member.Lock = func(ctx context.Context, parent object.Ref, brings func(context.Context) error) (err error) {
			held, err = r.lock.Hold(ctx, r.client, parent, brings)
			return err
		}
		defer r.lock.Release(ctx)
	}
	if err := r.Set.Begin(ctx, member, r.plan); err != nil {
		if verb.IsRefused(err) {
			r.lock.ReleaseUnused(ctx, r.client, member.Set().Exists)
		}
		return err
	}
	// held ends when the lock is lost.
	abandoned := false
	err = r.lock.Announce(held, member.Set().Live, r.plan.Len(), &counts, func(ctx context.Context) error {
		keeper := r.keeper(member.Set())
		keeper.Begin(ctx, r.Run, r.plan)
		applied := r.carryOut(ctx, r.engine(ctx, member, reviewed, emit))
		ended := member.End(ctx, applied, r.Input.LeftOut())
		if ended == nil && r.dryRun == object.DryRunNone {
			ended = reviewedDeletions.check(ctx, r.client, member.Set().Record.Parent, emit)
		}
		err := r.rollBack(ctx, ended)
		if abandoned = err != nil && member.Abandon(ctx); abandoned {
			_ = keeper.Remove(ctx) // A history that is left behind belongs to no set, and the next run replaces it.
			return err
		}
		keeper.End(ctx, r.result(err), counts.Failed())
		r.lock.Ended(r.result(err))
		return err
	})
	if abandoned {
		r.lock.ReleaseUnused(ctx, r.client, false)
	}
	return err
}

func (r *run) prune(ctx context.Context, set *store.Set, d applyset.Decision, emit func(event.Event)) ([]applyset.Kept, error) {
	departing, err := setrun.Order(ctx, r.client, set, d)
	if err != nil {
		return nil, err
	}
	engine := deletion.Engine{DryRun: r.dryRun, Emit: r.noting(departing, setrun.Pruned(emit))}
	r.Awaited.Deletes(&engine)
	err = removal.Members(ctx, r.connection, r.Run, r.client, &engine, departing.Phases)
	return departing.Stayed(), err
}

// noting records objects that a prune deleted or may have deleted, so that --atomic can restore
// them.
func (r *run) noting(departing *setrun.Leaving, emit func(event.Event)) func(event.Event) {
	if r.Journal == nil || r.dryRun != object.DryRunNone {
		return emit
	}
	r.results.pruned = departing.Plan
	items := map[object.Key]plan.Item{}
	for item := range departing.Plan.Items() {
		items[item.Key()] = item
	}
	return func(e event.Event) {
		if d, ok := e.(event.Deleted); ok && d.Action != event.Absent && d.Action != event.Failed && d.Action != event.Kept {
			if item, known := items[d.Ref.Key()]; known {
				r.Journal.Pruned(item, departing.Live[d.Ref.Key()])
			}
		}
		emit(e)
	}
}

// keeper returns the Keeper that writes the history of the run's set; nil for a run that writes
// nothing.
func (r *run) keeper(set *store.Set) *setrun.Keeper {
	if r.dryRun != object.DryRunNone {
		return nil
	}
	return &setrun.Keeper{
		Server: r.client, Parent: set.Record.Parent, Who: setrun.Caller(), Keep: r.History, Emit: r.Out.Print,
		History: r.lock, RollbackTo: r.RollbackTo, Confirms: r.Confirms,
	}
}
