package recorder

import (
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// pending is the unwritten state of one object, and how its last writes went.
type pending struct {
	object      ownership.Object
	transitions []pendingTransition
	// lost is how many found no room since the last write.
	lost loss

	wrote time.Time     // zero if never
	pause time.Duration // after wrote
	named named

	refused time.Time     // since when; zero if the last write was not
	retryAt time.Time     // not before, once refused
	backoff time.Duration // before retryAt

	// taken is set while it is being written.
	taken bool
	// lane is the lane in which it waits, if it does; index its place there, and at
	// when it is due.
	lane  *lane
	index int
	at    time.Time
}

// came is the arrival of the oldest transition.
func (p *pending) came() time.Time {
	if len(p.transitions) == 0 {
		return time.Time{}
	}
	return p.transitions[0].came
}

// ours reports whether this replica has a hint for any of its transitions.
func (p *pending) ours() bool { return slices.ContainsFunc(p.transitions, pendingTransition.ours) }

// due returns when to write the object, if at all.
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

// written records a successful write.
func (p *pending) written(now time.Time) {
	if p.resting(now) {
		p.pause = firstPause
	} else {
		p.pause = min(2*p.pause, longestPause)
	}
	p.wrote = now
}

// resting reports whether the object has been quiet for so long that its next
// transition counts as a first one.
func (p *pending) resting(now time.Time) bool {
	return p.wrote.IsZero() || now.Sub(p.wrote) > 2*p.pause
}

// failed records a refused write, and reports whether to give up.
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

// lane holds the pending transitions of one namespace.
type lane struct {
	namespace string
	// line are the objects that are to be written, the one that is due first in front.
	line waiting
	// transitions of all its objects, including those that another replica writes.
	transitions int
	// served is the turn at which it was last served, or arrived.
	served int
}

// waiting is a heap of objects by when they are due.
type waiting []*pending

func (l waiting) Len() int { return len(l) }

func (l waiting) Less(i, j int) bool {
	if !l[i].at.Equal(l[j].at) {
		return l[i].at.Before(l[j].at)
	}
	return l[i].object.UID < l[j].object.UID
}

func (l waiting) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].index, l[j].index = i, j
}

// Push implements heap.Interface.
func (l *waiting) Push(x any) {
	p := x.(*pending)
	p.index = len(*l)
	*l = append(*l, p)
}

// Pop implements heap.Interface.
func (l *waiting) Pop() any {
	last := len(*l) - 1
	p := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	return p
}
