package recorder

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// journal keeps what is to be written, and knows when. It writes nothing and
// reads no clock.
//
// All that is pending of an object is written together, whoever's it is: then
// what is older than a record remembers is known to be in it. Each note ends in
// exactly one way, see [ownership.Outcome].
type journal struct {
	limits Limits
	leads  bool
	// objects are those of which something is pending, or being written.
	objects map[types.UID]*pending
	lanes   lanes
	// rests are objects that were written lately, and of which nothing is pending.
	rests map[types.UID]rest
	// notes is how many are pending; theirs of them, another replica writes; out is
	// how many are being written.
	notes, theirs, out int
	// gaps is what was lost of objects for which nothing is pending.
	gaps map[types.UID]loss
	// lost counts, in all, what there was no room for.
	lost  int
	pace  pace
	peers peers
	swept time.Time
	// done is what to call when no lock is held: the notes that are settled.
	done []func()
}

// batch is what to write of one object.
type batch struct {
	object ownership.Object
	notes  []note
	lost   loss
	// paid is set if a token was spent for it.
	paid bool
}

// rest says when an object was written last, how long to wait after that, and of which
// entries a user was written.
type rest struct {
	wrote time.Time
	pause time.Duration
	named named
}

// outcome is how a write went.
type outcome int

const (
	written outcome = iota
	// known: somebody else had written all of it.
	known
	// refused: to be tried again.
	refused
	// gone: there is nothing to write it to, and never will be.
	gone
)

func newJournal(limits Limits, pace pace) *journal {
	return &journal{
		limits: limits.orDefaults(), pace: pace, objects: map[types.UID]*pending{}, lanes: newLanes(),
		rests: map[types.UID]rest{}, gaps: map[types.UID]loss{}, peers: peers{},
	}
}

// lead says whether this replica is to write what nobody has a hint for.
func (j *journal) lead(leads bool) {
	j.leads = leads
	for _, p := range j.objects {
		j.place(p)
	}
}

func (j *journal) add(o ownership.Object, n note, now time.Time) {
	n.came, n.entry = now, entryOf(n.Transition)
	p := j.open(o)
	p.notes = append(p.notes, n)
	j.count(p, 1, n)
	j.makeRoom(p)
	j.close(p, now)
}

// open returns what is known of an object.
func (j *journal) open(o ownership.Object) *pending {
	p := j.objects[o.UID]
	if p == nil {
		r := j.rests[o.UID]
		p = &pending{object: o, lost: j.gaps[o.UID], wrote: r.wrote, pause: r.pause, named: r.named}
		delete(j.gaps, o.UID)
		delete(j.rests, o.UID)
		j.objects[o.UID] = p
	}
	return p
}

// close puts an object where it waits for its turn, or forgets it where nothing is
// pending, but for what was lost and when it was written.
func (j *journal) close(p *pending, now time.Time) {
	if p.taken {
		return
	}
	if len(p.notes) > 0 {
		j.place(p)
		return
	}
	j.lanes.remove(p)
	uid := p.object.UID
	delete(j.objects, uid)
	if p.lost.count > 0 && len(j.gaps) < j.limits.Objects {
		j.gaps[uid] = p.lost
	}
	// If it finds no room, the next write comes sooner than it should.
	if !p.resting(now) && len(j.rests) < j.limits.Objects {
		j.rests[uid] = rest{p.wrote, p.pause, p.named}
	}
}

// place puts an object into line, or out of it if another replica is to write it.
func (j *journal) place(p *pending) {
	if p.taken {
		return
	}
	if at, ok := p.due(j.leads, j.limits.PerObject/2); ok {
		j.lanes.place(p, at)
		return
	}
	j.lanes.remove(p)
}

// count notes that notes of an object are pending, or are not any more.
func (j *journal) count(p *pending, sign int, notes ...note) {
	for _, n := range notes {
		j.notes += sign
		if !n.ours() {
			j.theirs += sign
		}
	}
	j.lanes.count(p.object.Namespace, sign*len(notes))
}

func (j *journal) settle(notes []note, o ownership.Outcome) {
	for _, n := range notes {
		j.done = append(j.done, n.calls(o))
	}
}

// next returns when something is to be written, or to be let go of, if ever.
func (j *journal) next(now time.Time) (time.Time, bool) {
	sweep, keeps := j.swept.Add(keep), !j.leads && j.theirs > 0
	at, ok := j.lanes.first()
	if !ok {
		return latest(sweep, now.Add(sweepEvery)), keeps
	}
	at = latest(at, j.pace.ready(now))
	if keeps && sweep.Before(at) {
		at = sweep
	}
	return at, true
}

// take hands out the object whose turn it is, if any is due and there is a token
// for it; it is to be answered for.
func (j *journal) take(now time.Time) (batch, bool) {
	j.expire(now)
	if j.pace.ready(now).After(now) {
		return batch{}, false
	}
	for {
		p := j.lanes.next(now)
		if p == nil {
			return batch{}, false
		}
		if at := j.hold(p, now); at.After(now) {
			j.lanes.place(p, at)
			continue
		}
		j.lanes.serve(p.lane)
		j.pace.spend(now)
		b := j.takeOf(p.object)
		b.paid = true
		return b, true
	}
}

// hold returns until when to leave an object to another replica.
func (j *journal) hold(p *pending, now time.Time) time.Time {
	if !j.leads || p.ours() {
		return now
	}
	return j.peers.until(p.object.Namespace, p.came(), now)
}

// takeOf hands out all that is pending of an object, due or not.
func (j *journal) takeOf(o ownership.Object) batch {
	p := j.open(o)
	j.lanes.remove(p)
	b := batch{object: p.object, notes: p.notes, lost: p.lost}
	j.count(p, -1, p.notes...)
	j.out += len(p.notes)
	p.notes, p.lost, p.taken = nil, loss{}, true
	return b
}

// drain hands out everything that is to be written by this replica, whenever:
// first what has a user, which is known nowhere else.
func (j *journal) drain() []batch {
	var out []batch
	for _, p := range j.objects {
		if _, ok := p.due(j.leads, 0); ok && !p.taken {
			out = append(out, j.takeOf(p.object))
		}
	}
	slices.SortFunc(out, func(a, b batch) int {
		if x, y := slices.ContainsFunc(a.notes, note.ours), slices.ContainsFunc(b.notes, note.ours); x != y {
			if x {
				return -1
			}
			return 1
		}
		return a.notes[0].came.Compare(b.notes[0].came)
	})
	return out
}

// answer says how the write of what was handed out went.
func (j *journal) answer(b batch, o outcome, now time.Time) {
	p := j.objects[b.object.UID]
	if p == nil || !p.taken {
		return
	}
	p.taken = false
	j.out -= len(b.notes)
	if b.paid && (o == known || o == gone) {
		j.pace.refund()
	}
	switch o {
	case written, known:
		j.settle(b.notes, ownership.OutcomeRecorded)
		p.refused, p.backoff = time.Time{}, 0
		p.named = p.named.add(b.notes)
		if o == written {
			p.written(now)
		}
	case gone:
		j.settle(slices.Concat(b.notes, p.notes), ownership.OutcomeRecorded)
		j.count(p, -1, p.notes...)
		*p = pending{object: p.object}
	case refused:
		j.refuse(p, b, now)
	}
	j.close(p, now)
}

func (j *journal) refuse(p *pending, b batch, now time.Time) {
	p.lost = p.lost.and(b.lost)
	giveUp := p.failed(now)
	p.notes = slices.Concat(b.notes, p.notes)
	j.count(p, 1, b.notes...)
	if giveUp {
		j.drop(p, len(b.notes))
		p.refused = time.Time{}
	}
	j.makeRoom(p)
}

// seen is told of a record as it is stored now, and whether this replica wrote it.
// What is in it need not be written again.
func (j *journal) seen(r *ownership.Record, own bool, now time.Time) {
	if !own {
		j.pace.spend(now)
		if last := len(r.Entries) - 1; last >= 0 {
			j.peers.saw(r.Object.Namespace, r.Entries[last].Last.Time, now)
		}
	}
	p := j.objects[r.Object.UID]
	if p == nil {
		return
	}
	probe := r.DeepCopy()
	rest := p.notes[:0:0]
	for _, n := range p.notes {
		if probe.Add(n.Transition, n.Occasion) {
			rest, probe = append(rest, n), r.DeepCopy()
			continue
		}
		j.count(p, -1, n)
		j.settle([]note{n}, ownership.OutcomeRecorded)
	}
	p.notes = rest
	j.close(p, now)
}

// expire lets go, now and then, of what a leader has written by now, and forgets
// who is quiet.
func (j *journal) expire(now time.Time) {
	if now.Sub(j.swept) < sweepEvery {
		return
	}
	j.swept = now
	for uid, r := range j.rests {
		if (&pending{wrote: r.wrote, pause: r.pause}).resting(now) {
			delete(j.rests, uid)
		}
	}
	if !j.leads && j.theirs > 0 {
		j.shed(func(n note) bool { return now.Sub(n.came) > keep }, now)
	}
}

// behind is for how long something has waited that should be written by now.
func (j *journal) behind(now time.Time) (longest time.Duration) {
	for _, p := range j.objects {
		switch {
		case !p.refused.IsZero():
			longest = max(longest, now.Sub(p.refused))
		case p.lane != nil:
			longest = max(longest, now.Sub(p.at))
		}
	}
	return longest
}

// isRefused tells whether the last write of any object was refused.
func (j *journal) isRefused() bool {
	for _, p := range j.objects {
		if !p.refused.IsZero() {
			return true
		}
	}
	return false
}

// settledNow returns what to call, once.
func (j *journal) settledNow() []func() {
	done := j.done
	j.done = nil
	return done
}
