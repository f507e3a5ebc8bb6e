package recorder

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

type pending struct {
	object      ownership.Object
	transitions []pendingTransition
	// lost counts the transitions dropped since the last write.
	lost loss

	wrote time.Time     // zero if never
	pause time.Duration // after wrote
	named named

	refused time.Time     // time of the first consecutive refusal; zero if the last write was not refused
	retryAt time.Time     // the earliest time for the next attempt after a refusal
	backoff time.Duration // before retryAt

	taken bool // being written
	// lane is nil unless the object is waiting. index and at are the object's position in the lane
	// and the time at which it is due.
	lane  *lane
	index int
	at    time.Time
}

func (p *pending) arrived() time.Time {
	if len(p.transitions) == 0 {
		return time.Time{}
	}
	return p.transitions[0].came
}

func (p *pending) ours() bool { return slices.ContainsFunc(p.transitions, pendingTransition.ours) }

// due returns the time at which to write the object, if this replica has to write it.
func (p *pending) due(leads bool, full int) (time.Time, bool) {
	var at, first time.Time // first is when the first user of an entry is due
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

func (p *pending) written(now time.Time) {
	if p.resting(now) {
		p.pause = firstPause
	} else {
		p.pause = min(2*p.pause, longestPause)
	}
	p.wrote = now
}

// resting reports whether the object has been unchanged for so long that its pauses start over.
func (p *pending) resting(now time.Time) bool {
	return p.wrote.IsZero() || now.Sub(p.wrote) > 2*p.pause
}

// failed records a failed write, and reports whether to give up retrying.
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

type lane struct {
	namespace string
	// line contains the objects that this replica has to write, ordered by when they are due.
	line waiting
	// transitions counts the lane's transitions, including those that another replica will write.
	transitions int
	// served is the turn at which the lane was last served, or created.
	served int
}

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

func (l *waiting) Push(x any) {
	p := x.(*pending)
	p.index = len(*l)
	*l = append(*l, p)
}

func (l *waiting) Pop() any {
	last := len(*l) - 1
	p := (*l)[last]
	(*l)[last] = nil
	*l = (*l)[:last]
	return p
}

type pendingTransition struct {
	ownership.Transition
	ownership.Occasion
	came    time.Time
	entry   uint64 // see entryOf
	settled func(ownership.Outcome)
}

// ours reports whether this replica has the hint for the transition. It then writes the transition
// even if it does not lead.
func (n pendingTransition) ours() bool { return n.User != "" && !n.Noted }

func (n pendingTransition) same(other pendingTransition) bool {
	return n.entry == other.entry && n.ResourceVersion == other.ResourceVersion && n.Gap == other.Gap
}

func (n pendingTransition) joined(noted pendingTransition) pendingTransition {
	if n.User == "" && noted.User != "" {
		n.User, n.Kind, n.Forced, n.Values, n.Noted = noted.User, noted.Kind, noted.Forced, noted.Values, true
	}
	first, second := n.settled, noted.settled
	n.settled = func(o ownership.Outcome) {
		for _, settled := range []func(ownership.Outcome){first, second} {
			if settled != nil {
				settled(o)
			}
		}
	}
	return n
}

func (n pendingTransition) calls(o ownership.Outcome) func() {
	if n.settled == nil {
		return func() {}
	}
	return func() { n.settled(o) }
}

// loss counts the dropped transitions of an object. version is the resource version of the newest
// dropped transition.
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

// maxNamed bounds the number of remembered entries per object; a record has no more.
const maxNamed = 64

// named contains fingerprints of an object's entries whose first user has been written. An entry's
// first user is written without the usual pause, because only this process knows the user.
type named map[uint64]struct{}

func (n named) has(t pendingTransition) bool {
	_, ok := n[t.entry]
	return ok
}

func (n named) add(transitions []pendingTransition) named {
	for _, t := range transitions {
		if !t.ours() || len(n) >= maxNamed {
			continue
		}
		if n == nil {
			n = named{}
		}
		n[t.entry] = struct{}{}
	}
	return n
}

// entryOf returns a fingerprint of a transition's path and owners, regardless of direction.
func entryOf(t ownership.Transition) uint64 {
	path := fnv.New64a()
	_, _ = path.Write([]byte(t.Path.String()))
	return path.Sum64() ^ (partyOf(t.Before) + partyOf(t.After))
}

func partyOf(owners []managedfields.Owner) uint64 {
	h := fnv.New64a()
	for _, o := range owners {
		for _, text := range []string{o.Manager, o.Operation, o.Subresource, o.APIVersion} {
			_, _ = h.Write(append([]byte(text), 0))
		}
	}
	return h.Sum64()
}
