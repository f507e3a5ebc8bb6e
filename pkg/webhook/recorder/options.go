package recorder

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// Options of a recorder. The zero value only writes records of namespaced objects.
type Options struct {
	// Namespace is for the records of cluster-scoped objects.
	Namespace string
	// Events, if set, receives takeovers.
	Events Events
	// Transitions, if set, receives every transition as a line of JSON. Every replica writes those
	// that it sees; uid, resourceVersion and path identify one.
	Transitions io.Writer
	// Log, if set, receives refused writes: each reason once until writes succeed again.
	Log *slog.Logger
	// WritesPerSecond bounds the writes of the whole cluster; 10 by default. The writes of other
	// replicas count, so a single replica may use the whole rate. It does not apply to the last
	// writes before the end.
	WritesPerSecond float64
	// Burst is how many records may be written at once after a quiet period; 500 by default.
	Burst int
	// FlushTimeout bounds the writes at the end; 10s by default.
	FlushTimeout time.Duration
	// Limits of the pending transitions in memory.
	Limits Limits
}

// Events sends Events, as client-go's tools/record does. tools/events would count the second one on
// an object within minutes, and drop its message.
type Events interface {
	Eventf(object runtime.Object, eventtype, reason, text string, args ...any)
}

// Limits bound a queue (edge case 81). For the leader, a transition beyond them is
// [ownership.OutcomeLost], counted, and mentioned in the object's next record; other replicas leave
// it to the leader ([ownership.OutcomeLeft]).
type Limits struct {
	// Objects bounds the objects with pending transitions; 20,000 by default.
	Objects int
	// Transitions bounds the pending transitions of all objects; 50,000 by default, of about a
	// kilobyte each.
	Transitions int
	// PerObject bounds the pending transitions of one object; 256 by default. If half as many are
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
	// gather is how long the first transition of an object waits for others of the same write.
	gather = 200 * time.Millisecond
	// grace is how long a transition without a user waits for another replica to report it with
	// one.
	grace = 3 * time.Second
	// firstPause and longestPause are the pauses between writes of one record while its owners keep
	// changing.
	firstPause, longestPause = 10 * time.Second, 5 * time.Minute
	// namePause is the pause before the first user of an entry is written.
	namePause = time.Second
	// firstRetry and longestRetry are the pauses between refused writes.
	firstRetry, longestRetry = time.Second, 5 * time.Minute
	// giveUp is how long a refused write is retried. A quota may be permanent.
	giveUp = time.Hour
	// keep is how long a replica that does not lead keeps what the leader should write: as long as
	// 10,000 objects may take at the default rate.
	keep = 20 * time.Minute
	// sweepEvery is how often outdated state is removed.
	sweepEvery = 10 * time.Second
	// callTimeout bounds one write to the store.
	callTimeout = 5 * time.Second
)
