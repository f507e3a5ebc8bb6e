package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/restore"
)

const (
	// rollbackTimeout bounds how long a run takes back what it wrote; hurriedBack does so for a
	// run that was interrupted or out of time, since a user who stops a program waits
	// only briefly.
	rollbackTimeout            = 10 * time.Minute
	interruptedRollbackTimeout = time.Minute
)

// rollBack takes back what the run wrote, if the run failed and --atomic was given. It
// returns the run's error if everything was restored, and a plain no if not: the report
// has then said what remains.
func (o *applyOptions) rollBack(ctx context.Context, client *client.Client, p *plan.Plan, failed error) error {
	if failed == nil || o.journal == nil {
		return failed
	}
	groups, err := o.journal.Notes(p, o.pruned)
	if err != nil {
		return errors.Join(failed, fmt.Errorf("nothing is taken back: %w", err))
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
	// The interrupt is the reason for taking back, so it must not end that: a second one
	// ends the program.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), most, &backError{most})
	defer cancel()
	engine := restore.Engine{
		Server: client, Manager: o.predictor.Manager,
		Remove: remover{client, o.out.Print}.remove, Contents: client.Contents, Emit: o.out.Print,
	}
	if err := engine.Run(ctx, groups); err != nil {
		return verb.ErrNo
	}
	o.undone = true
	return failed
}

// backError says that the time for the way back is over.
type backError struct{ most time.Duration }

func (e *backError) Error() string { return "the " + e.most.String() + " for taking it back are over" }
