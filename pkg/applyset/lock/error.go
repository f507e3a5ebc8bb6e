package lock

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Reason is why a lock was lost.
type Reason int

// The reasons.
const (
	// Taken: another run has it, or had it.
	Taken Reason = iota
	// Deleted: the Lease is gone.
	Deleted
	// NotRenewed: it could not be renewed for too long.
	NotRenewed
)

// ErrNotHeld refuses a write of a run that has no lock, or has given it back.
var ErrNotHeld = errors.New("the lock of the set is not held")

// LostError says that a run has lost its lock. Nothing that it writes from then on leaves
// the process.
type LostError struct {
	// Set is what the set is called; empty if that is unknown.
	Set    string
	Reason Reason
	// By is the Lease as the other run holds it now, with Taken.
	By Record
	// For is how long the Lease was not renewed, and Err why, with NotRenewed.
	For time.Duration
	Err error
}

func (e *LostError) Error() string {
	lost := "the lock of the set was lost"
	if e.Set != "" {
		lost = e.Set + ": " + lost
	}
	switch {
	case e.Reason == Deleted:
		return lost + ": its Lease was deleted"
	case e.Reason == NotRenewed && e.Err != nil:
		return fmt.Sprintf("%s: its Lease could not be renewed for %s: %v", lost, e.For.Round(time.Second), e.Err)
	case e.Reason == NotRenewed:
		return fmt.Sprintf("%s: its Lease could not be renewed for %s", lost, e.For.Round(time.Second))
	case e.By.Holder == "":
		return lost + ": another run took it over, and is done"
	default:
		return lost + ": " + e.By.Holder + " took it over"
	}
}

// Unwrap returns why the Lease could not be renewed.
func (e *LostError) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *LostError) Hint() string {
	if e.Reason == Taken && e.By.Holder != "" {
		return "nothing more was written; wait for the other run, then run this one again: it continues where it stopped"
	}
	return "nothing more was written; run it again: it continues where it stopped"
}

// HeldError says that another run holds the lock, and was not waited for any longer.
type HeldError struct {
	Lease Record
	// Left is when it could be taken over, unless it renews the Lease.
	Left time.Duration
	// Waited is for how long we waited.
	Waited time.Duration
}

func (e *HeldError) Error() string {
	text := "the set is locked by " + e.Lease.Holder
	if e.Lease.Run != "" {
		text += ", run " + e.Lease.Run
	}
	if !e.Lease.Acquired.IsZero() {
		text += ", since " + e.Lease.Acquired.UTC().Format(time.RFC3339)
	}
	if e.Waited >= time.Second {
		text += fmt.Sprintf("; waited %s", e.Waited.Round(time.Second))
	}
	return text
}

// short leaves out what is zero: 1m and not 1m0s.
func short(d time.Duration) string { return strings.TrimSuffix(d.String(), "0s") }

// Hint says whether it is worth waiting.
func (e *HeldError) Hint() string {
	if e.Waited > e.Lease.Duration {
		return "that run is alive: it renews the lock. Wait for longer (--lock-timeout=10m), or stop it"
	}
	wait := (e.Left + time.Second).Truncate(time.Minute) + time.Minute
	return fmt.Sprintf("if that run is dead, the lock is free in %s: --lock-timeout=%s waits for that", e.Left.Round(time.Second), short(wait))
}
