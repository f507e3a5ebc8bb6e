package setrun

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// unfinished is the result of a run that was killed.
const unfinished = "unfinished"

// LockState returns the lock, nil if it is free, and the last run that held it, nil if that run is
// unknown. now is the server's time. A run that holds the lock counts as unfinished if it has not
// renewed the Lease for twice the Lease's duration, to allow for clock errors.
func LockState(ctx context.Context, server object.Getter, parent object.Ref, now time.Time) (*event.Lock, *event.SetRun) {
	live, err := server.Get(ctx, LeaseKind(), LeaseOf(parent))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return &event.Lock{Holder: fmt.Sprintf("unknown (%s)", apierrors.ReasonForError(err))}, nil
	}
	lease, err := recordOf(live)
	if err != nil {
		return &event.Lock{Holder: "unknown (" + err.Error() + ")"}, nil
	}
	notes := live.GetAnnotations()
	acquired, renewed := lease.AcquireTime.Time, lease.RenewTime.Time
	run := &event.SetRun{ID: notes[RunAnnotation], Who: notes[WhoAnnotation], Result: notes[ResultAnnotation], Started: acquired, Ended: renewed}
	var held *event.Lock
	if lease.HolderIdentity != "" {
		held = &event.Lock{Holder: lease.HolderIdentity, Since: acquired, Renewed: renewed}
		run.Result, run.Ended = string(history.Running), time.Time{}
		const twice = 2
		if valid := time.Duration(lease.LeaseDurationSeconds) * time.Second; valid > 0 && now.Sub(renewed) > twice*valid {
			run.Result = unfinished
		}
	}
	if run.Result == "" { // Another program wrote the Lease, without a result.
		return held, nil
	}
	return held, run
}

// LastRun returns the last run that applied something, as recorded in the Lease. Its ID is empty
// if the Lease has no note. An invalid note causes a [history.FaultError].
func LastRun(ctx context.Context, server object.Getter, parent object.Ref) (history.Run, error) {
	live, err := server.Get(ctx, LeaseKind(), LeaseOf(parent))
	if apierrors.IsNotFound(err) {
		return history.Run{}, nil
	}
	if err != nil {
		return history.Run{}, err
	}
	return history.ReadNote(live.GetAnnotations()[LastRunAnnotation])
}

// LostError means that a run has lost its lock and sends no more writes.
type LostError struct {
	set, why string
	// The run that holds the lock now, if any.
	by  string
	err error
}

func (e *LostError) Error() string {
	message := e.set + ": the lock of the set was lost: " + e.why
	if e.err != nil {
		message += ": " + e.err.Error()
	}
	return message
}

// Late makes the exit status 1.
func (e *LostError) Late() bool { return true }

func (e *LostError) Unwrap() error { return e.err }

func (e *LostError) Hint() string {
	if e.by != "" {
		return "nothing more was written; wait for the other run, then run this one again: it continues where it stopped"
	}
	return "nothing more was written; run this again: it continues where it stopped"
}

// HeldError means that another run still held the lock when the time to wait had passed.
type HeldError struct {
	Holder, Run string
	Since       time.Time
	Waited      time.Duration
	// valid is the duration of the Lease. left is how much of it remains.
	valid, left time.Duration
}

// Late makes the exit status 1.
func (e *HeldError) Late() bool { return true }

func (e *HeldError) Error() string {
	message := "the set is locked by " + e.Holder
	if e.Run != "" {
		message += ", run " + e.Run
	}
	if !e.Since.IsZero() {
		message += ", since " + e.Since.UTC().Format(time.RFC3339)
	}
	if e.Waited >= time.Second {
		message += fmt.Sprintf("; waited %s", e.Waited.Round(time.Second))
	}
	return message
}

func (e *HeldError) Hint() string {
	if e.Waited > e.valid {
		return "that run is still alive: it keeps renewing the lock. Wait longer (--lock-timeout=10m), or stop it"
	}
	wait := (e.left + time.Second).Truncate(time.Minute) + time.Minute
	return fmt.Sprintf("if that run is dead, the lock expires in %s: --lock-timeout=%s waits for that", e.left.Round(time.Second), strings.TrimSuffix(wait.String(), "0s"))
}
