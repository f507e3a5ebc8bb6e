package recorder

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// queue decides which objects to write, and when. It writes nothing and reads no clock.
//
// All pending transitions of an object are written together, by whichever replica writes the
// object. So everything older than the newest transition of a record is known to be in the record.
// Each transition has exactly one [ownership.Outcome].
type queue struct {
	limits Limits
	leads  bool
	// objects holds the objects that have pending transitions, or that are being written.
	objects map[types.UID]*pending
	lanes   lanes
	// cooldowns holds objects that were written recently and have no pending transitions.
	cooldowns map[types.UID]cooldown
	// transitions, theirs and out count pending transitions: all of them, those that another
	// replica will write, and those that are being written.
	transitions, theirs, out int
	// gaps holds the losses of objects that have no pending transitions.
	gaps  map[types.UID]loss
	lost  int
	pace  pace
	peers peers
	swept time.Time
	// done contains the calls that report outcomes. The calls are made without the lock.
	done []func()
}

type batch struct {
	object      ownership.Object
	transitions []pendingTransition
	lost        loss
	paid        bool // a token was spent
}

type cooldown struct {
	wrote time.Time
	pause time.Duration
	named named
}

type outcome int

const (
	written outcome = iota
	known           // another replica had already written everything
	refused         // the write will be retried
	gone            // the namespace is being deleted, so the record can never be written
)

func newQueue(limits Limits, pace pace) *queue {
	return &queue{
		limits: limits.orDefaults(), pace: pace, objects: map[types.UID]*pending{}, lanes: lanes{of: map[string]*lane{}},
		cooldowns: map[types.UID]cooldown{}, gaps: map[types.UID]loss{}, peers: peers{},
	}
}

func (q *queue) lead(leads bool) {
	q.leads = leads
	for _, p := range q.objects {
		q.enqueue(p)
	}
}

func (q *queue) add(o ownership.Object, n pendingTransition, now time.Time) {
	n.came, n.entry = now, entryOf(n.Transition)
	p := q.open(o)
	at := len(p.transitions)
	if n.Noted {
		if i := slices.IndexFunc(p.transitions, n.same); i >= 0 {
			p.transitions[i] = p.transitions[i].joined(n)
			q.close(p, now)
			return
		}
		for at > 0 && object.Newer(p.transitions[at-1].ResourceVersion, n.ResourceVersion) {
			at--
		}
	}
	p.transitions = slices.Insert(p.transitions, at, n)
	q.count(p, 1, n)
	q.freeCapacity(p)
	q.close(p, now)
}

func (q *queue) open(o ownership.Object) *pending {
	p := q.objects[o.UID]
	if p == nil {
		r := q.cooldowns[o.UID]
		p = &pending{object: o, lost: q.gaps[o.UID], wrote: r.wrote, pause: r.pause, named: r.named}
		delete(q.gaps, o.UID)
		delete(q.cooldowns, o.UID)
		q.objects[o.UID] = p
	}
	return p
}

// close queues an object, or removes it if it has no pending transitions. Its losses and its
// cooldown are kept.
func (q *queue) close(p *pending, now time.Time) {
	if p.taken {
		return
	}
	if len(p.transitions) > 0 {
		q.enqueue(p)
		return
	}
	q.lanes.remove(p)
	uid := p.object.UID
	delete(q.objects, uid)
	if p.lost.count > 0 && len(q.gaps) < q.limits.Objects {
		q.gaps[uid] = p.lost
	}
	// If the cooldown does not fit, the only effect is that the object's next write comes
	// earlier.
	if !p.resting(now) && len(q.cooldowns) < q.limits.Objects {
		q.cooldowns[uid] = cooldown{p.wrote, p.pause, p.named}
	}
}

func (q *queue) enqueue(p *pending) {
	if p.taken {
		return
	}
	if at, ok := p.due(q.leads, q.limits.PerObject/2); ok {
		q.lanes.insert(p, at)
		return
	}
	q.lanes.remove(p)
}

func (q *queue) count(p *pending, sign int, transitions ...pendingTransition) {
	for _, n := range transitions {
		q.transitions += sign
		if !n.ours() {
			q.theirs += sign
		}
	}
	q.lanes.count(p.object.Namespace, sign*len(transitions))
}

func (q *queue) settle(transitions []pendingTransition, o ownership.Outcome) {
	for _, n := range transitions {
		q.done = append(q.done, n.calls(o))
	}
}

func (q *queue) nextDue(now time.Time) (time.Time, bool) {
	sweep, keeps := q.swept.Add(keep), !q.leads && q.theirs > 0
	at, ok := q.lanes.first()
	if !ok {
		return latest(sweep, now.Add(sweepEvery)), keeps
	}
	at = latest(at, q.pace.ready(now))
	if keeps && sweep.Before(at) {
		at = sweep
	}
	return at, true
}

// dequeue returns an object that is due, if a token is available. The caller must call answer.
func (q *queue) dequeue(now time.Time) (batch, bool) {
	q.expire(now)
	if q.pace.ready(now).After(now) {
		return batch{}, false
	}
	for {
		p := q.lanes.nextPending(now)
		if p == nil {
			return batch{}, false
		}
		if q.leads && !p.ours() {
			if at := q.peers.until(p.object.Namespace, p.arrived(), now); at.After(now) {
				q.lanes.insert(p, at)
				continue
			}
		}
		q.lanes.turn++
		p.lane.served = q.lanes.turn
		q.pace.spend(now)
		b := q.takeOf(p.object)
		b.paid = true
		return b, true
	}
}

func (q *queue) takeOf(o ownership.Object) batch {
	p := q.open(o)
	q.lanes.remove(p)
	b := batch{object: p.object, transitions: p.transitions, lost: p.lost}
	q.count(p, -1, p.transitions...)
	q.out += len(p.transitions)
	p.transitions, p.lost, p.taken = nil, loss{}, true
	return b
}

// drain returns all transitions that this replica has to write, even those that are not due yet.
// Those with a user come first, because only this replica knows the user.
func (q *queue) drain() []batch {
	var out []batch
	for _, p := range q.objects {
		if _, ok := p.due(q.leads, 0); ok && !p.taken {
			out = append(out, q.takeOf(p.object))
		}
	}
	slices.SortFunc(out, func(a, b batch) int {
		if x, y := slices.ContainsFunc(a.transitions, pendingTransition.ours), slices.ContainsFunc(b.transitions, pendingTransition.ours); x != y {
			if x {
				return -1
			}
			return 1
		}
		return a.transitions[0].came.Compare(b.transitions[0].came)
	})
	return out
}

// answer applies the outcome of a batch. If the object is gone, there is nothing left to attach records to, so
// transitions that have arrived in the meantime are settled too.
func (q *queue) answer(b batch, o outcome, now time.Time) {
	p := q.objects[b.object.UID]
	if p == nil || !p.taken {
		return
	}
	p.taken = false
	q.out -= len(b.transitions)
	if b.paid && (o == known || o == gone) {
		q.pace.refund()
	}
	switch o {
	case written, known:
		q.settle(b.transitions, ownership.OutcomeRecorded)
		p.refused, p.backoff = time.Time{}, 0
		p.named = p.named.add(b.transitions)
		if o == written {
			p.written(now)
		}
	case gone:
		q.settle(slices.Concat(b.transitions, p.transitions), ownership.OutcomeRecorded)
		q.count(p, -1, p.transitions...)
		*p = pending{object: p.object}
	case refused:
		q.refuse(p, b, now)
	}
	q.close(p, now)
}

func (q *queue) refuse(p *pending, b batch, now time.Time) {
	p.lost = p.lost.and(b.lost)
	giveUp := p.failed(now)
	p.transitions = slices.Concat(b.transitions, p.transitions)
	q.count(p, 1, b.transitions...)
	if giveUp {
		q.drop(p, len(b.transitions), q.outcome(ownership.OutcomeLost))
		p.refused = time.Time{}
	}
	q.freeCapacity(p)
}

// seen handles a record as it is now stored. Transitions that the record contains need not be
// written. own means that this replica wrote the record.
func (q *queue) seen(r *ownership.Record, own bool, now time.Time) {
	p := q.objects[r.Object.UID]
	if !own {
		q.pace.spend(now)
		switch last := len(r.Entries) - 1; {
		case p != nil && !p.arrived().IsZero():
			q.peers.saw(r.Object.Namespace, now.Sub(p.arrived()), now)
		case last >= 0:
			q.peers.saw(r.Object.Namespace, min(now.Sub(r.Entries[last].Last.Time), maxLag), now)
		}
	}
	if p == nil {
		return
	}
	probe := r.DeepCopy()
	rest := p.transitions[:0:0]
	for _, n := range p.transitions {
		if probe.Add(n.Transition, n.Occasion) {
			rest, probe = append(rest, n), r.DeepCopy()
			continue
		}
		q.count(p, -1, n)
		q.settle([]pendingTransition{n}, ownership.OutcomeRecorded)
	}
	p.transitions = rest
	q.close(p, now)
}

// expire removes transitions that a leader must have written by now, and cooldowns that are over.
func (q *queue) expire(now time.Time) {
	if now.Sub(q.swept) < sweepEvery {
		return
	}
	q.swept = now
	for uid, r := range q.cooldowns {
		if (&pending{wrote: r.wrote, pause: r.pause}).resting(now) {
			delete(q.cooldowns, uid)
		}
	}
	if !q.leads && q.theirs > 0 {
		q.leaveToLeader(func(n pendingTransition) bool { return now.Sub(n.came) > keep }, now)
	}
}

func (q *queue) behind(now time.Time) (longest time.Duration) {
	for _, p := range q.objects {
		switch {
		case !p.refused.IsZero():
			longest = max(longest, now.Sub(p.refused))
		case p.lane != nil:
			longest = max(longest, now.Sub(p.at))
		}
	}
	return longest
}

func (q *queue) isRefused() bool {
	for _, p := range q.objects {
		if !p.refused.IsZero() {
			return true
		}
	}
	return false
}

func (q *queue) settledNow() []func() {
	done := q.done
	q.done = nil
	return done
}
