package observe

import (
	"context"
	"fmt"
	"time"
)

// BlindError says that nothing but errors came for so long that nobody can tell
// what became of an object (edge case 57).
type BlindError struct {
	// For is how long, Failures how many they were.
	For      time.Duration
	Failures int
	// Err is the last of them.
	Err error
}

func (e *BlindError) Error() string {
	return fmt.Sprintf("could not be looked at for %s (%d errors), the last: %v", e.For.Round(time.Second), e.Failures, e.Err)
}

func (e *BlindError) Unwrap() error { return e.Err }

// Unreachable marks errors that say nothing about the object.
func (e *BlindError) Unreachable() bool { return true }

// blindness is a time of nothing but errors.
type blindness struct {
	failures int // 0: we see
	last     error
	fuse     *time.Timer
}

// end ends it.
func (b *blindness) end() {
	if b.fuse != nil {
		b.fuse.Stop()
	}
	*b = blindness{}
}

// blinded notes an error. When nothing else comes for too long, the view is given up.
func (v *View) blinded(err error, giveUp context.CancelCauseFunc) {
	v.blind.failures++
	v.blind.last = err
	if v.Patience == 0 || v.blind.fuse != nil {
		return
	}
	var fuse *time.Timer
	fuse = time.AfterFunc(v.Patience, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.blind.fuse == fuse {
			giveUp(&BlindError{For: v.Patience, Failures: v.blind.failures, Err: v.blind.last})
		}
	})
	v.blind.fuse = fuse
}

func (v *View) endBlindness() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.blind.end()
}
