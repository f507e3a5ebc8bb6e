// Package retry paces writes that are bound to a version and overtaken by other writers: [Attempts]
// decides when to read, decide and write again, for how long, and with which error it ends. [For]
// is a pause that a context can end. It sends nothing.
package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// firstPause is about as long as a controller takes for the next of a few writes. Each pause is
	// twice the previous one, up to longestPause.
	firstPause, longestPause = 20 * time.Millisecond, time.Second
	// patience is the sum of all pauses: longer than the bursts of a controller, and short enough
	// for a user to wait.
	patience = 10 * time.Second
	// limit ends the attempts although pauses are left: each may have had inner attempts, at a dry
	// run, or slow requests.
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

// At begins the attempts at a write to an object.
func At(ref object.Ref) *Attempts { return &Attempts{ref: ref, began: time.Now()} }

// Saw records the object as an attempt found it, nil if it did not exist: what has changed since
// the previous version names the other writers.
func (a *Attempts) Saw(live *unstructured.Unstructured) { a.others.saw(live) }

// Wrote records the object after a write of our own that was a part of an attempt. The receiver may
// be nil.
func (a *Attempts) Wrote(answer *unstructured.Unstructured) {
	if a != nil && answer != nil {
		a.others.last = answer
	}
}

// Again is called when another client wrote in between, and returns nil when it is time for the
// next attempt. It returns a *LostError when there is none, and ctx's cause as soon as that is
// done.
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
	// Randomly shorter or longer: another writer may have a fixed pace, and so may other runs that
	// lost to the same one.
	return For(ctx, long/2+rand.N(long))
}

// For returns after that time, or as soon as ctx is done, with its cause.
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
