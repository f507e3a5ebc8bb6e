package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/removal"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/restore"
)

const (
	// interruptedRollbackTimeout is shorter than rollbackTimeout, because a user who stops a
	// program will not wait long.
	rollbackTimeout            = 10 * time.Minute
	interruptedRollbackTimeout = time.Minute
)

// rollBack rolls back a failed run if --atomic was given, and returns the error of the run. If
// objects were not restored, the exit status is 1; the report names them. Unless the run is undone,
// rollBack reports which members stay in or left another set.
func (r *run) rollBack(ctx context.Context, failed error) error {
	err := r.restore(ctx, failed)
	if !r.results.undone && r.Set.Name == "" {
		r.leaving.Warn(ctx, r.client, r.dryRun != object.DryRunNone, r.Out.Print)
	}
	return err
}

func (r *run) restore(ctx context.Context, failed error) error {
	if failed == nil || r.Journal == nil {
		return failed
	}
	groups, err := r.Journal.Notes(r.plan, r.results.pruned)
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
	r.Out.Print(event.RollingBack{Err: failed, Objects: written, Within: most})
	// The first interrupt does not end the rollback; a second one ends the program.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), most, fmt.Errorf("the rollback took longer than %s", most))
	defer cancel()
	engine := restore.Engine{
		Server: r.client, Manager: r.predictor.Manager,
		Remove: removal.Remover{Client: r.client, Emit: r.Out.Print}.Remove, Contents: r.client.Contents, Emit: r.Out.Print,
	}
	if err := engine.Run(ctx, groups); err != nil {
		return verb.Remains(failed)
	}
	r.results.undone = true
	return failed
}
