package recorder

import (
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// pendingTransition is a transition that is not written yet.
type pendingTransition struct {
	ownership.Transition
	ownership.Occasion
	came    time.Time
	entry   uint64 // see entryOf
	settled func(ownership.Outcome)
}

// ours reports whether to write it without being the leader: who has the hint
// does.
func (n pendingTransition) ours() bool { return n.User != "" }

// loss is how many transitions of an object there was no room for, and at which of
// its resource versions the newest of them was.
type loss struct {
	count   int
	version string
}

func (l loss) and(other loss) loss {
	sum := l.count + other.count
	if l.count == 0 || object.Newer(other.version, l.version) {
		l = other
	}
	l.count = sum
	return l
}

// calls returns the call that says what became of it.
func (n pendingTransition) calls(o ownership.Outcome) func() {
	if n.settled == nil {
		return func() {}
	}
	return func() { n.settled(o) }
}

// pending is what is known of one object and not written, and how its last
// writes went.
type pending struct {
	object      ownership.Object
	transitions []pendingTransition
	// lost is how many there was no room for, since the last write.
	lost loss

	wrote time.Time     // zero if never
	pause time.Duration // after wrote
	named named

	refused time.Time     // since when; zero if the last write was not
	retryAt time.Time     // not before, once refused
	backoff time.Duration // before retryAt

	// taken is set while it is being written.
	taken bool
	// lane is that in whose line it waits, if it does; index its place there, and at
	// when it is due.
	lane  *lane
	index int
	at    time.Time
}

// came is when the oldest transition came.
func (p *pending) came() time.Time {
	if len(p.transitions) == 0 {
		return time.Time{}
	}
	return p.transitions[0].came
}

// ours reports whether this replica has a hint for any of it.
func (p *pending) ours() bool { return slices.ContainsFunc(p.transitions, pendingTransition.ours) }

// due returns when the object is to be written, if it is.
func (p *pending) due(leads bool, full int) (time.Time, bool) {
	var at, first time.Time // first is of an entry of which no user is written yet
	found := false
	for _, n := range p.transitions {
		when := n.came.Add(gather)
		if n.ours() && first.IsZero() && !p.named.has(n) {
			first = when
		}
		if !n.ours() {
			when = n.came.Add(grace)
		}
		if (leads || n.ours()) && (!found || when.Before(at)) {
			at, found = when, true
		}
	}
	if !p.wrote.IsZero() && len(p.transitions) < full {
		at = latest(at, p.wrote.Add(p.pause))
		if soon := latest(first, p.wrote.Add(namePause)); !first.IsZero() && soon.Before(at) {
			at = soon
		}
	}
	if !p.refused.IsZero() {
		at = latest(at, p.retryAt)
	}
	return at, found
}

// written notes that a write was made.
func (p *pending) written(now time.Time) {
	if p.resting(now) {
		p.pause = firstPause
	} else {
		p.pause = min(2*p.pause, longestPause)
	}
	p.wrote = now
}

// resting reports whether the object has been quiet for so long that its next
// transition is a first one.
func (p *pending) resting(now time.Time) bool {
	return p.wrote.IsZero() || now.Sub(p.wrote) > 2*p.pause
}

// failed notes that a write was refused, and reports whether to give up.
func (p *pending) failed(now time.Time) bool {
	if p.refused.IsZero() {
		p.refused = now
	}
	p.backoff = min(max(2*p.backoff, firstRetry), longestRetry)
	p.retryAt = now.Add(p.backoff)
	return now.Sub(p.refused) >= giveUp
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
