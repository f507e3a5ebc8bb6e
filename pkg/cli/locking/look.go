package locking

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// unfinished is the result of a run that was killed: the process that holds its Lease is gone.
const unfinished = "unfinished"

// Look says who holds the lock of the set with this parent, and what its last run was. Both
// are nil if it was never held; a lock that may not be read counts as held by an unknown
// holder. now is the server's time: a Lease that was not renewed for twice the time that it
// is good for is that of a dead run, whichever clock is wrong by less than that.
func Look(ctx context.Context, server Reader, parent object.Ref, now time.Time) (*event.Lock, *event.SetRun) {
	live, err := server.Get(ctx, LeaseKind(), LeaseOf(parent))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return &event.Lock{Holder: fmt.Sprintf("unknown (%s)", apierrors.ReasonForError(err))}, nil
	}
	lease, err := RecordOf(live)
	if err != nil {
		return &event.Lock{Holder: "unknown (" + err.Error() + ")"}, nil
	}
	notes := live.GetAnnotations()
	run := &event.SetRun{ID: lease.Run, Who: notes[WhoAnnotation], Result: notes[ResultAnnotation], Started: lease.Acquired, Ended: lease.Renewed}
	var held *event.Lock
	if lease.Holder != "" {
		held = &event.Lock{Holder: lease.Holder, Since: lease.Acquired, Renewed: lease.Renewed}
		run.Result, run.Ended = string(history.Running), time.Time{}
		const twice = 2
		if lease.Duration > 0 && now.Sub(lease.Renewed) > twice*lease.Duration {
			run.Result = unfinished
		}
	}
	if run.Result == "" { // Whoever wrote the Lease notes no results.
		return held, nil
	}
	return held, run
}
