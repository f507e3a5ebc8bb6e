package recorder

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Options are the options of a recorder. With the zero value, a recorder only writes records of
// namespaced objects.
type Options struct {
	// Namespace is the namespace for the records of cluster-scoped objects.
	Namespace string
	// Events receives takeovers; if it is nil, no Events are sent.
	Events Events
	// Transitions receives every transition that this replica sees, as a line of JSON; if it is
	// nil, none are written. Together, uid, resourceVersion and path identify a transition.
	Transitions io.Writer
	// Log receives refused writes. Each reason is logged once until writes succeed again.
	Log *slog.Logger
	// WritesPerSecond bounds the combined writes of all replicas; 10 by default. It does not bound
	// the last writes before the recorder ends.
	WritesPerSecond float64
	// Burst is how many records may be written at once after a quiet period; 500 by default.
	Burst int
	// FlushTimeout bounds the writes at the end; 10s by default.
	FlushTimeout time.Duration
	Limits       Limits
}

// Events sends Events, like client-go's tools/record. tools/events would merely count a second
// Event on an object within minutes, and drop its message.
type Events interface {
	Eventf(object runtime.Object, eventtype, reason, text string, args ...any)
}

// Limits bounds a queue (edge case 81). If the leader has no capacity for a transition, the outcome is
// [ownership.OutcomeLost], or [ownership.OutcomeCounted] beyond the object's own limit; the loss is
// counted in the object's next record. Other replicas leave such a transition to the leader
// ([ownership.OutcomeLeft]).
type Limits struct {
	// Objects bounds the number of objects with pending transitions; 20,000 by default.
	Objects int
	// Transitions bounds the number of pending transitions across all objects; 50,000 by default,
	// of about a kilobyte each.
	Transitions int
	// PerObject bounds the pending transitions of one object; 256 by default. Once half as many are
	// pending, they are written at once.
	PerObject int
}

func (l Limits) orDefaults() Limits {
	return Limits{
		Objects:     cmp.Or(l.Objects, 20_000),
		Transitions: cmp.Or(l.Transitions, 50_000),
		PerObject:   cmp.Or(l.PerObject, 256),
	}
}

const (
	// gather is how long the first transition of an object waits for other transitions of the same
	// write.
	gather = 200 * time.Millisecond
	// grace is how long a transition without a user waits for another replica to report the user.
	grace = 3 * time.Second
	// firstPause and longestPause bound the pause between two writes of a record whose owners keep
	// changing.
	firstPause, longestPause = 10 * time.Second, 5 * time.Minute
	// namePause is the pause before an entry's first user is written.
	namePause = time.Second
	// firstRetry and longestRetry bound the pause before a refused write is retried.
	firstRetry, longestRetry = time.Second, 5 * time.Minute
	// giveUp is how long a refused write is retried. The reason, such as a quota, may be permanent.
	giveUp = time.Hour
	// keep is how long other replicas keep transitions that the leader should write. At the default
	// rate, writing 10,000 objects takes about that long.
	keep       = 20 * time.Minute
	sweepEvery = 10 * time.Second
)
