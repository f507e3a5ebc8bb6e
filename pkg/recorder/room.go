package recorder

import (
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// makeRoom lets go of notes until the bounds are kept (edge case 81). Whoever does
// not lead lets go first of what the leader writes anyway. After that, it is the
// namespace with the most that makes room, so that a flood there does not push out
// what came from elsewhere (edge case 100).
func (j *journal) makeRoom(p *pending) {
	if more := len(p.notes) - j.limits.PerObject; more > 0 {
		j.drop(p, more)
	}
	if !j.leads && j.theirs > 0 && (j.crowded() || j.overflows()) {
		j.shed(func(note) bool { return true }, p.came())
	}
	for j.crowded() && j.evict(p, func(l *lane) int { return len(l.line) }) {
	}
	for j.overflows() && len(p.notes) > 0 && j.fullest(p) {
		j.drop(p, 1)
	}
	for j.overflows() && j.evict(p, func(l *lane) int { return l.notes }) {
	}
}

func (j *journal) crowded() bool   { return len(j.objects) > j.limits.Objects }
func (j *journal) overflows() bool { return j.notes > j.limits.Transitions }

// fullest tells whether no namespace has more notes than that of an object.
func (j *journal) fullest(p *pending) bool {
	full := j.lanes.fullest(func(l *lane) int { return l.notes })
	return full != nil && full.notes <= j.lanes.of[p.object.Namespace].notes
}

// evict lets go of all that is pending of one object: of the one that came, if its
// namespace is the one with the most, and else of one that would be written late
// there. It tells whether there was one.
func (j *journal) evict(came *pending, size func(*lane) int) bool {
	full := j.lanes.fullest(size)
	own := j.lanes.of[came.object.Namespace]
	if len(came.notes) > 0 && !came.taken && (full == nil || own != nil && size(own) >= size(full)) {
		j.drop(came, len(came.notes))
		j.close(came, came.wrote)
		return true
	}
	if full == nil || len(full.line) == 0 {
		return false
	}
	victim := full.line[len(full.line)-1]
	j.drop(victim, len(victim.notes))
	j.close(victim, victim.wrote)
	return true
}

// drop lets go of the oldest notes of an object. The leader loses them: nobody else
// records them without a hint. For anybody else, they are left to the leader.
func (j *journal) drop(p *pending, n int) {
	dropped := p.notes[:n]
	p.notes = slices.Clone(p.notes[n:])
	j.count(p, -1, dropped...)
	if !j.leads {
		j.settle(dropped, ownership.OutcomeLeft)
		return
	}
	j.settle(dropped, ownership.OutcomeLost)
	j.lost += n
	for _, d := range dropped {
		p.lost = p.lost.and(loss{1, d.ResourceVersion})
	}
}

// shed leaves notes to the leader which has to write them.
func (j *journal) shed(which func(note) bool, now time.Time) {
	for _, p := range j.objects {
		p.notes = slices.DeleteFunc(p.notes, func(n note) bool {
			if n.ours() || !which(n) {
				return false
			}
			j.count(p, -1, n)
			j.settle([]note{n}, ownership.OutcomeLeft)
			return true
		})
		j.close(p, now)
	}
}
