package recorder

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Options of a recorder. The zero value writes records of namespaced objects, and
// nothing else.
type Options struct {
	// Namespace of the records of objects that are in none.
	Namespace string
	// Events, if set, are told of takeovers.
	Events Events
	// Transitions, if set, gets every transition as one line of JSON. Every replica
	// writes those that it sees; uid, resourceVersion and path say which are one.
	Transitions io.Writer
	// Log, if set, is told of writes that are refused: once, until all is well.
	Log *slog.Logger
	// Metrics, if set, are counted.
	Metrics *Metrics
	// WritesPerSecond bounds the writes of the whole cluster; 10 by default. What other
	// replicas are seen to write counts too, so that one of them alone may use all of it.
	// At the end, when what is pending is written at once, it does not bound.
	WritesPerSecond float64
	// Burst is how many records may be written at once after a quiet time; 500 by
	// default.
	Burst int
	// FlushTimeout is how long the end may take; 10s by default.
	FlushTimeout time.Duration
	// Limits of what is kept in memory.
	Limits Limits
}

// Events takes Events, as client-go's tools/record does. That of tools/events would
// count the second one on an object within minutes, and drop its text.
type Events interface {
	Eventf(object runtime.Object, eventtype, reason, text string, args ...any)
}

// Limits bound a queue (edge case 81). What goes beyond them is [ownership.OutcomeLost] for
// the leader, and counted, and said in the object's next record; for others it is
// [ownership.OutcomeLeft] to the leader.
type Limits struct {
	// Objects that something is pending for; 20,000 by default.
	Objects int
	// Transitions that are pending, of all objects; 50,000 by default, of about a
	// kilobyte each.
	Transitions int
	// PerObject is how many of them may be of one object; 256 by default. At half
	// of it they are written without waiting.
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
	// firstPause and longestPause are between the writes of one record while its
	// object keeps changing hands.
	firstPause, longestPause = 10 * time.Second, 5 * time.Minute
	// namePause is between them where an entry has no user yet and one is known.
	namePause = time.Second
	// firstRetry and longestRetry are between attempts that are refused.
	firstRetry, longestRetry = time.Second, 5 * time.Minute
	// giveUp is how long a refused write is tried again: a quota may be for good.
	giveUp = time.Hour
	// keep is how long who does not lead keeps what the leader should write: as long as
	// it may take for 10,000 objects at the default pace.
	keep = 20 * time.Minute
	// sweepEvery is how often it is looked for what need not be kept any more.
	sweepEvery = 10 * time.Second
	// callTimeout bounds one call of the store.
	callTimeout = 5 * time.Second
)
