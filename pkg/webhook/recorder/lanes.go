package recorder

import (
	"container/heap"
	"maps"
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// lanes holds the pending transitions by namespace. It serves the namespaces in turn, so that a
// flood in one namespace does not delay another (edge case 100).
type lanes struct {
	of   map[string]*lane
	turn int
}

func (l *lanes) lane(namespace string) *lane {
	found := l.of[namespace]
	if found == nil {
		l.turn++
		found = &lane{namespace: namespace, served: l.turn} // behind those already waiting
		l.of[namespace] = found
	}
	return found
}

func (l *lanes) insert(p *pending, at time.Time) {
	p.at = at
	if p.lane != nil {
		heap.Fix(&p.lane.line, p.index)
		return
	}
	p.lane = l.lane(p.object.Namespace)
	heap.Push(&p.lane.line, p)
}

func (l *lanes) remove(p *pending) {
	if p.lane == nil {
		return
	}
	heap.Remove(&p.lane.line, p.index)
	from := p.lane
	p.lane = nil
	l.tidy(from)
}

func (l *lanes) count(namespace string, more int) {
	if more == 0 {
		return
	}
	in := l.lane(namespace)
	in.transitions += more
	l.tidy(in)
}

func (l *lanes) tidy(in *lane) {
	if in.transitions == 0 && len(in.line) == 0 {
		delete(l.of, in.namespace)
	}
}

func (l *lanes) first() (at time.Time, ok bool) {
	for _, in := range l.of {
		if len(in.line) > 0 && (!ok || in.line[0].at.Before(at)) {
			at, ok = in.line[0].at, true
		}
	}
	return at, ok
}

// nextPending chooses the lane that was served longest ago.
func (l *lanes) nextPending(now time.Time) *pending {
	var found *lane
	for _, in := range l.of {
		if len(in.line) == 0 || in.line[0].at.After(now) {
			continue
		}
		if found == nil || in.served < found.served {
			found = in
		}
	}
	if found == nil {
		return nil
	}
	return found.line[0]
}

func (l *lanes) fullest(size func(*lane) int) *lane {
	var found *lane
	for _, in := range l.of {
		if found == nil || size(in) > size(found) {
			found = in
		}
	}
	return found
}

// freeCapacity drops transitions until the limits are met (edge case 81). The excess of one object is only
// counted in its record, so that one user's writes cannot cause a gap. If the replica does not lead,
// freeCapacity first drops the transitions that the leader also writes. Then the namespace with the most
// transitions loses some, so that changes elsewhere are preserved (edge case 100).
func (q *queue) freeCapacity(p *pending) {
	if more := len(p.transitions) - q.limits.PerObject; more > 0 {
		q.drop(p, more, q.outcome(ownership.OutcomeCounted))
	}
	if !q.leads && q.theirs > 0 && (q.crowded() || q.overflows()) {
		q.leaveToLeader(func(pendingTransition) bool { return true }, p.arrived())
	}
	for q.crowded() && q.evict(p, func(l *lane) int { return len(l.line) }) {
	}
	for q.overflows() && len(p.transitions) > 0 && q.fullest(p) {
		q.drop(p, 1, q.outcome(ownership.OutcomeLost))
	}
	for q.overflows() && q.evict(p, func(l *lane) int { return l.transitions }) {
	}
}

func (q *queue) crowded() bool   { return len(q.objects) > q.limits.Objects }
func (q *queue) overflows() bool { return q.transitions > q.limits.Transitions }

func (q *queue) fullest(p *pending) bool {
	full := q.lanes.fullest(func(l *lane) int { return l.transitions })
	return full != nil && full.transitions <= q.lanes.of[p.object.Namespace].transitions
}

// evict drops all transitions of one object, and reports whether it found one to drop. If the
// fullest namespace is that of the object whose transitions were queued last (came), evict drops
// the transitions of that object. Otherwise it drops those of the object that is last in line in
// the fullest namespace.
func (q *queue) evict(came *pending, size func(*lane) int) bool {
	full := q.lanes.fullest(size)
	own := q.lanes.of[came.object.Namespace]
	if len(came.transitions) > 0 && !came.taken && (full == nil || own != nil && size(own) >= size(full)) {
		q.drop(came, len(came.transitions), q.outcome(ownership.OutcomeLost))
		q.close(came, came.wrote)
		return true
	}
	if full == nil || len(full.line) == 0 {
		return false
	}
	victim := full.line[len(full.line)-1]
	q.drop(victim, len(victim.transitions), q.outcome(ownership.OutcomeLost))
	q.close(victim, victim.wrote)
	return true
}

// drop removes the first n transitions of an object with an outcome. Those that are not left to the
// leader are counted in the object's next record.
func (q *queue) drop(p *pending, n int, end ownership.Outcome) {
	dropped := p.transitions[:n]
	p.transitions = slices.Clone(p.transitions[n:])
	q.count(p, -1, dropped...)
	q.settle(dropped, end)
	if end == ownership.OutcomeLeft {
		return
	}
	q.lost += n
	for _, d := range dropped {
		p.lost = p.lost.and(loss{1, d.ResourceVersion})
	}
}

// outcome returns the outcome of a transition that this replica drops: the leader's, or
// [ownership.OutcomeLeft].
func (q *queue) outcome(leaders ownership.Outcome) ownership.Outcome {
	if q.leads {
		return leaders
	}
	return ownership.OutcomeLeft
}

func (q *queue) leaveToLeader(which func(pendingTransition) bool, now time.Time) {
	for _, p := range q.objects {
		p.transitions = slices.DeleteFunc(p.transitions, func(n pendingTransition) bool {
			if n.ours() || !which(n) {
				return false
			}
			q.count(p, -1, n)
			q.settle([]pendingTransition{n}, ownership.OutcomeLeft)
			return true
		})
		q.close(p, now)
	}
}

// pace bounds how often records are written in the whole cluster. It is a token bucket: each
// replica takes tokens for its own writes and for the writes of others that it sees. It reads no
// clock.
type pace struct {
	rate   float64 // tokens a second
	burst  float64 // the maximum number of tokens, and of tokens owed
	tokens float64
	at     time.Time // the time of the last refill
}

func newPace(rate float64, burst int) pace {
	return pace{rate: rate, burst: float64(burst), tokens: float64(burst)}
}

func (p *pace) fill(now time.Time) {
	if !p.at.IsZero() && now.After(p.at) {
		p.tokens = min(p.burst, p.tokens+now.Sub(p.at).Seconds()*p.rate)
	}
	if p.at.IsZero() || now.After(p.at) {
		p.at = now
	}
}

func (p *pace) ready(now time.Time) time.Time {
	p.fill(now)
	if p.tokens >= 1 {
		return now
	}
	wait := time.Duration((1 - p.tokens) / p.rate * float64(time.Second))
	return now.Add(wait + time.Nanosecond) // rounded up, so that a token is available then
}

// spend takes a token. If there is none, the bucket goes into debt.
func (p *pace) spend(now time.Time) {
	p.fill(now)
	p.tokens = max(-p.burst, p.tokens-1)
}

func (p *pace) refund() { p.tokens = min(p.burst, p.tokens+1) }

const (
	// sightLasts is how long a write by another replica counts as a sign of that replica's
	// progress.
	sightLasts = 10 * time.Second
	// maxLag bounds the lag computed from a record's time. This time comes from another machine's
	// clock, which may be wrong by hours.
	maxLag    = 2 * time.Minute
	maxSights = 1024
)

// peers estimates the progress of other replicas in each namespace from their writes. A replica
// with hints writes the hinted changes, with their users, in the order in which they arrived.
// Meanwhile the leader leaves later changes to that replica. Otherwise both would write the same
// objects, which means up to a third more writes in a storm. A wrong estimate has no other effect.
type peers map[string]sight

// A sight is the last write by another replica that this replica saw in a namespace. lag is how
// long the written change had been waiting.
type sight struct {
	at  time.Time
	lag time.Duration
}

func (p peers) saw(namespace string, lag time.Duration, now time.Time) {
	if len(p) >= maxSights {
		maps.DeleteFunc(p, func(_ string, s sight) bool { return now.Sub(s.at) >= sightLasts })
	}
	if len(p) < maxSights {
		p[namespace] = sight{now, max(0, lag)}
	}
}

// until returns the time until which another replica may still write a change.
func (p peers) until(namespace string, came, now time.Time) time.Time {
	s, ok := p[namespace]
	if !ok || now.Sub(s.at) >= sightLasts {
		return now
	}
	passed := came.Add(grace + s.lag)
	if end := s.at.Add(sightLasts); end.Before(passed) {
		return end
	}
	return passed
}
