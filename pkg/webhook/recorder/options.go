package recorder

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Options of a recorder. The zero value writes records of namespaced objects, and nothing
// else.
type Options struct {
	// Namespace for the records of objects without one.
	Namespace string
	// Events, if set, receives takeovers.
	Events Events
	// Transitions, if set, gets every transition as one line of JSON. Every replica writes
	// those that it sees; uid, resourceVersion and path identify one.
	Transitions io.Writer
	// Log, if set, receives refused writes: once, until writes succeed again.
	Log *slog.Logger
	// Metrics, if set, are counted.
	Metrics *Metrics
	// WritesPerSecond bounds the writes of the whole cluster; 10 by default. The writes of
	// other replicas count too, so a single replica may use all of it. At the end, when
	// everything pending is written at once, it does not apply.
	WritesPerSecond float64
	// Burst is how many records may be written at once after a quiet time; 500 by default.
	Burst int
	// FlushTimeout bounds the writes at the end; 10s by default.
	FlushTimeout time.Duration
	// Limits of what is kept in memory.
	Limits Limits
}

// Events takes Events, as client-go's tools/record does. That of tools/events would
// count the second one on an object within minutes, and drop its text.
type Events interface {
	Eventf(object runtime.Object, eventtype, reason, text string, args ...any)
}

// Limits bound a queue (edge case 81). A transition beyond them is
// [ownership.OutcomeLost] for the leader, counted, and mentioned in the object's next
// record; for other replicas it is [ownership.OutcomeLeft] to the leader.
type Limits struct {
	// Objects with pending transitions; 20,000 by default.
	Objects int
	// Transitions that are pending, of all objects; 50,000 by default, of about a
	// kilobyte each.
	Transitions int
	// PerObject is how many of them one object may have; 256 by default. From half of it on
	// they are written at once.
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
	// gather is how long the first transition of an object waits for others of the
	// same write.
	gather = 200 * time.Millisecond
	// grace is how long a transition without a user waits for another replica to
	// report it with one.
	grace = 3 * time.Second
	// firstPause and longestPause are between the writes of one record while its object
	// keeps changing hands.
	firstPause, longestPause = 10 * time.Second, 5 * time.Minute
	// namePause is the pause if an entry has no user yet and one is known.
	namePause = time.Second
	// firstRetry and longestRetry are between attempts that are refused.
	firstRetry, longestRetry = time.Second, 5 * time.Minute
	// giveUp is how long a refused write is retried: a quota may be permanent.
	giveUp = time.Hour
	// keep is how long a replica that does not lead keeps what the leader should write: as
	// long as it may take for 10,000 objects at the default pace.
	keep = 20 * time.Minute
	// sweepEvery is how often stale state is removed.
	sweepEvery = 10 * time.Second
	// callTimeout bounds one call of the store.
	callTimeout = 5 * time.Second
)
