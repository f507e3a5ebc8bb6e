// Package retry repeats writes that fail because another client wrote first. [Attempts] decides
// when to read, decide and write again, for how long, and with which error to stop. [For] is a
// pause that ends early when its context ends. The package sends no requests.
package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// firstPause is about the time between two writes of a controller. Each pause is twice as long
	// as the previous one, up to longestPause.
	firstPause, longestPause = 20 * time.Millisecond, time.Second
	// patience limits the sum of all pauses. It is longer than a controller's burst of writes, but
	// short enough for a waiting user.
	patience = 10 * time.Second
	// limit limits the total time, because an attempt may include slow requests, or repeated
	// attempts of its own.
	limit = time.Minute
)

// Attempts counts the attempts at one write to one object. It is not safe for concurrent use.
type Attempts struct {
	ref    object.Ref
	began  time.Time
	made   int
	paused time.Duration // the sum of the pauses before they are randomized
	others writers
}

// At returns the Attempts for a write to an object. The time starts to run.
func At(ref object.Ref) *Attempts { return &Attempts{ref: ref, began: time.Now()} }

// Saw records the object that an attempt read; nil if it did not exist. The changes since the
// previous version show the other writers.
func (a *Attempts) Saw(live *unstructured.Unstructured) { a.others.saw(live) }

// Wrote records the object after one of our own writes in an attempt. The receiver may be nil.
func (a *Attempts) Wrote(answer *unstructured.Unstructured) {
	if a != nil && answer != nil {
		a.others.last = answer
	}
}

// Again waits for the next attempt after another client wrote first. It returns a *LostError if no
// further attempt is allowed, and the cause of ctx as soon as ctx ends.
func (a *Attempts) Again(ctx context.Context) error {
	a.made++
	if a.paused >= patience || time.Since(a.began) >= limit {
		return &LostError{Ref: a.ref, Attempts: a.made, Took: time.Since(a.began), Writers: a.others.names()}
	}
	long := longestPause
	if shift := a.made - 1; firstPause<<shift < longestPause {
		long = firstPause << shift
	}
	a.paused += long
	// The pause is random, because the other writer may write at fixed intervals, and other runs
	// may wait for it, too.
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
