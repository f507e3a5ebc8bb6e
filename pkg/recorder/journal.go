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
// what is older than a record remembers is known to be in it.
type journal struct {
	limits  Limits
	leads   bool
	objects map[types.UID]*pending
	// taken is what [journal.take] handed out and nobody answered for yet.
	taken map[types.UID]batch
	// notes is how many there are, pending and taken.
	notes int
	// gaps is what was lost of objects for which nothing is pending.
	gaps map[types.UID]loss
	// lost counts, in all, what there was no room for.
	lost int
	// crowded is when it was last found that no object makes room.
	crowded time.Time
	// done is what to call when no lock is held: the notes that are settled.
	done []func()
}

// batch is what to write of one object.
type batch struct {
	object ownership.Object
	notes  []note
	lost   loss
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

func newJournal(limits Limits) *journal {
	return &journal{
		limits: limits.orDefaults(), objects: map[types.UID]*pending{},
		taken: map[types.UID]batch{}, gaps: map[types.UID]loss{},
	}
}

func (j *journal) add(o ownership.Object, n note, now time.Time) {
	n.came, n.entry = now, entryOf(n.Transition)
	p := j.objects[o.UID]
	if p == nil {
		if len(j.objects) >= j.limits.Objects && !j.forgetResting(now) {
			j.lose(o.UID, nil, n)
			return
		}
		p = &pending{object: o, lost: j.gaps[o.UID]}
		delete(j.gaps, o.UID)
		j.objects[o.UID] = p
	}
	p.notes = append(p.notes, n)
	j.notes++
	j.trim(p)
}

// trim drops the oldest notes of an object until there is room for the others.
func (j *journal) trim(p *pending) {
	if j.notes > j.limits.Transitions && !j.leads {
		for _, other := range j.objects {
			j.shed(other, func(n note) bool { return !n.ours() })
		}
	}
	for len(p.notes) > j.limits.PerObject || j.notes > j.limits.Transitions && len(p.notes) > 0 {
		n := p.notes[0]
		p.notes = p.notes[1:]
		j.notes--
		j.lose(p.object.UID, p, n)
	}
}

// shed drops notes that somebody else writes.
func (j *journal) shed(p *pending, which func(note) bool) {
	p.notes = slices.DeleteFunc(p.notes, func(n note) bool {
		if !which(n) {
			return false
		}
		j.notes--
		j.leave(n)
		return true
	})
}

// lose lets go of a note. Who does not lead loses nothing by what is not his: the
// leader writes it.
func (j *journal) lose(uid types.UID, p *pending, n note) {
	if !j.leads && !n.ours() {
		j.leave(n)
		return
	}
	j.settle(n)
	switch {
	case p != nil:
		p.lost = p.lost.and(loss{1, n.ResourceVersion})
	case j.gaps[uid].count > 0 || len(j.gaps) < j.limits.Objects:
		j.gaps[uid] = j.gaps[uid].and(loss{1, n.ResourceVersion})
	}
	j.lost++
}

// leave lets go of a note that the leader should have written: whether he has, is
// not known here.
func (j *journal) leave(n note) { j.done = append(j.done, n.calls(false)) }

func (j *journal) settle(notes ...note) {
	for _, n := range notes {
		j.done = append(j.done, n.calls(true))
	}
}

// next returns when something is to be done, if ever.
func (j *journal) next() (time.Time, bool) {
	var at time.Time
	found := false
	for uid, p := range j.objects {
		if when, ok := j.due(uid, p); ok && (!found || when.Before(at)) {
			at, found = when, true
		}
	}
	return at, found
}

func (j *journal) due(uid types.UID, p *pending) (time.Time, bool) {
	if _, ok := j.taken[uid]; ok {
		return time.Time{}, false
	}
	return p.due(j.leads, j.limits.PerObject/2)
}

// take hands out the object that has been due for longest; it is to be answered
// for.
func (j *journal) take(now time.Time) (batch, bool) {
	j.expire(now)
	var first *pending
	var at time.Time
	for uid, p := range j.objects {
		when, ok := j.due(uid, p)
		if !ok || when.After(now) {
			continue
		}
		if first == nil || when.Before(at) || when.Equal(at) && uid < first.object.UID {
			first, at = p, when
		}
	}
	if first == nil {
		return batch{}, false
	}
	return j.takeOf(first.object), true
}

// takeOf hands out all that is pending of an object, due or not.
func (j *journal) takeOf(o ownership.Object) batch {
	b := batch{object: o, lost: j.gaps[o.UID]}
	delete(j.gaps, o.UID)
	if p := j.objects[o.UID]; p != nil {
		b.notes, b.lost = p.notes, b.lost.and(p.lost)
		p.notes, p.lost = nil, loss{}
	}
	j.taken[o.UID] = b
	return b
}

// drain hands out everything that is to be written by this replica, whenever.
func (j *journal) drain() []batch {
	var out []batch
	for uid, p := range j.objects {
		if _, ok := j.due(uid, p); ok {
			out = append(out, j.takeOf(p.object))
		}
	}
	slices.SortFunc(out, func(a, b batch) int { return a.notes[0].came.Compare(b.notes[0].came) })
	return out
}

// answer says how the write of what was handed out went.
func (j *journal) answer(b batch, o outcome, now time.Time) {
	uid := b.object.UID
	if _, ok := j.taken[uid]; !ok {
		return // It was forgotten meanwhile.
	}
	delete(j.taken, uid)
	p := j.objects[uid]
	if p == nil {
		p = &pending{object: b.object}
		j.objects[uid] = p
	}
	switch o {
	case written, known:
		j.notes -= len(b.notes)
		j.settle(b.notes...)
		p.refused, p.backoff = time.Time{}, 0
		p.named = p.named.add(b.notes)
		if o == written {
			p.written(now)
		}
	case gone:
		j.notes -= len(b.notes)
		j.settle(b.notes...)
		j.forget(uid)
	case refused:
		j.refuse(p, b, now)
	}
}

func (j *journal) refuse(p *pending, b batch, now time.Time) {
	p.lost = p.lost.and(b.lost)
	if !p.failed(now) {
		p.notes = slices.Concat(b.notes, p.notes)
		j.trim(p)
		return
	}
	j.notes -= len(b.notes)
	for _, n := range b.notes {
		j.lose(b.object.UID, p, n)
	}
	p.refused = time.Time{}
	if len(p.notes) == 0 {
		j.rest(p)
	}
}

// rest stops remembering an object for which nothing is pending, but for what was
// lost.
func (j *journal) rest(p *pending) {
	uid := p.object.UID
	delete(j.objects, uid)
	if p.lost.count > 0 && len(j.gaps) < j.limits.Objects {
		j.gaps[uid] = p.lost
	}
}

// forget drops all that is known of an object that is gone.
func (j *journal) forget(uid types.UID) {
	if b, ok := j.taken[uid]; ok {
		j.notes -= len(b.notes)
		j.settle(b.notes...)
		delete(j.taken, uid)
	}
	if p := j.objects[uid]; p != nil {
		j.notes -= len(p.notes)
		j.settle(p.notes...)
		delete(j.objects, uid)
	}
	delete(j.gaps, uid)
}

// expire drops what a leader has written by now, and forgets who is quiet.
func (j *journal) expire(now time.Time) {
	for uid, p := range j.objects {
		if !j.leads {
			j.shed(p, func(n note) bool { return !n.ours() && now.Sub(n.came) > keep })
		}
		if _, ok := j.taken[uid]; !ok && len(p.notes) == 0 && p.resting(now) {
			j.rest(p)
		}
	}
}

// forgetResting makes room for another object, if it can. In a flood, it does not
// look each time.
func (j *journal) forgetResting(now time.Time) bool {
	if now.Sub(j.crowded) < time.Second {
		return false
	}
	j.expire(now)
	if len(j.objects) < j.limits.Objects {
		return true
	}
	for uid, p := range j.objects {
		if _, ok := j.taken[uid]; !ok && (len(p.notes) == 0 || !j.leads && !slices.ContainsFunc(p.notes, note.ours)) {
			j.shed(p, func(note) bool { return true })
			j.rest(p) // If it is to be written again, that comes sooner than it should.
			return true
		}
	}
	j.crowded = now
	return false
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
