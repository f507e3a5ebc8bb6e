// Package retry repeats writes that fail because another client wrote first. Start with [At];
// [Attempts.Again] decides whether and when to try again. [For] is a pause that ends early if its
// context ends. The package never sends requests.
package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// The first pause is about as long as the time between two consecutive writes of a controller.
	// Each pause is twice as long as the previous one, up to longestPause.
	firstPause, longestPause = 20 * time.Millisecond, time.Second
	// patience limits the sum of all pauses. It is longer than a controller's burst of writes, but
	// short enough for a waiting user.
	patience = 10 * time.Second
	// limit bounds the total time, because an attempt may involve slow requests or retries of its
	// own.
	limit = time.Minute
)

// Attempts counts the attempts at one write. It is not safe for concurrent use.
type Attempts struct {
	ref    object.Ref
	began  time.Time
	made   int
	paused time.Duration // the sum of the pauses before randomization
	others writers
}

// At begins the attempts at a write and starts the clock.
func At(ref object.Ref) *Attempts { return &Attempts{ref: ref, began: time.Now()} }

// OnRead records the object that an attempt read; nil if there is none. Its changes since the previous
// version reveal the other writers.
func (a *Attempts) OnRead(live *unstructured.Unstructured) { a.others.saw(live) }

// OnWritten records the object as it was after one of our writes. The receiver may be nil.
func (a *Attempts) OnWritten(answer *unstructured.Unstructured) {
	if a != nil && answer != nil {
		a.others.last = answer
	}
}

// Again waits until the next attempt. It returns a *LostError if no further attempt is allowed, and
// the cause of ctx as soon as ctx ends. A second attempt is always allowed: the first may have taken
// long only because the server did not answer.
func (a *Attempts) Again(ctx context.Context) error {
	a.made++
	if a.made > 1 && (a.paused >= patience || time.Since(a.began) >= limit) {
		return &LostError{Ref: a.ref, Attempts: a.made, Took: time.Since(a.began), Writers: a.others.names()}
	}
	long := longestPause
	if shift := a.made - 1; firstPause<<shift < longestPause {
		long = firstPause << shift
	}
	a.paused += long
	// The pause is random, because the other writer may write at fixed intervals, and other runs
	// may be waiting to write the same object.
	return For(ctx, long/2+rand.N(long))
}

// For returns nil after the pause, or the cause of ctx as soon as ctx ends.
func For(ctx context.Context, long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
