package watchset

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// BlindError says that there were only errors for so long that the fate of an object is
// unknown (edge case 57).
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

// add notes an error. When nothing else comes for as long as patience, it gives up; lock
// guards the blindness.
func (b *blindness) add(err error, patience time.Duration, lock sync.Locker, giveUp context.CancelCauseFunc) {
	b.failures++
	b.last = err
	if patience == 0 || b.fuse != nil {
		return
	}
	var fuse *time.Timer
	fuse = time.AfterFunc(patience, func() {
		lock.Lock()
		defer lock.Unlock()
		if b.fuse == fuse {
			giveUp(&BlindError{For: patience, Failures: b.failures, Err: b.last})
		}
	})
	b.fuse = fuse
}
