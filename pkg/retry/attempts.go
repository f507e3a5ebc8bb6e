// Package retry paces writes that other clients overtake: [Attempts] decides when to read, decide
// and write again, for how long, and with which error to stop. [For] is a pause that a context can
// end. It sends nothing.
package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// firstPause is about the time between a controller's writes. Each pause is twice the previous
	// one, up to longestPause.
	firstPause, longestPause = 20 * time.Millisecond, time.Second
	// patience bounds the sum of all pauses: longer than a controller's burst of writes, but short
	// enough for a user.
	patience = 10 * time.Second
	// limit bounds the total time, because each attempt may include slow requests or attempts of
	// its own.
	limit = time.Minute
)

// Attempts counts the attempts at one write to one object. It is not safe for concurrent use.
type Attempts struct {
	ref    object.Ref
	began  time.Time
	made   int
	paused time.Duration // without randomness
	others writers
}

// At starts the attempts at a write to an object.
func At(ref object.Ref) *Attempts { return &Attempts{ref: ref, began: time.Now()} }

// Saw records the object that an attempt read, nil if it did not exist. Changes since the previous
// version name the other writers.
func (a *Attempts) Saw(live *unstructured.Unstructured) { a.others.saw(live) }

// Wrote records the object after a write of our own within an attempt. The receiver may be nil.
func (a *Attempts) Wrote(answer *unstructured.Unstructured) {
	if a != nil && answer != nil {
		a.others.last = answer
	}
}

// Again is called after another client wrote first, and returns nil when it is time for the next
// attempt. It returns a *LostError if there is none, and the cause of ctx as soon as that is done.
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
	// Vary the pause: the other writer may have a fixed interval, and so may other runs that lost
	// to it.
	return For(ctx, long/2+rand.N(long))
}

// For returns after the pause, or with the cause of ctx as soon as that is done.
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
