package recorder

import (
	"slices"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// makeRoom drops transitions until the bounds are kept (edge case 81). A replica that
// does not lead first drops what the leader writes anyway. After that, the namespace with
// the most makes room, so that a flood there does not push out changes from elsewhere
// (edge case 100).
func (q *queue) makeRoom(p *pending) {
	if more := len(p.transitions) - q.limits.PerObject; more > 0 {
		q.drop(p, more)
	}
	if !q.leads && q.theirs > 0 && (q.crowded() || q.overflows()) {
		q.leaveToLeader(func(pendingTransition) bool { return true }, p.came())
	}
	for q.crowded() && q.evict(p, func(l *lane) int { return len(l.line) }) {
	}
	for q.overflows() && len(p.transitions) > 0 && q.fullest(p) {
		q.drop(p, 1)
	}
	for q.overflows() && q.evict(p, func(l *lane) int { return l.transitions }) {
	}
}

func (q *queue) crowded() bool   { return len(q.objects) > q.limits.Objects }
func (q *queue) overflows() bool { return q.transitions > q.limits.Transitions }

// fullest reports whether no namespace has more transitions than that of an object.
func (q *queue) fullest(p *pending) bool {
	full := q.lanes.fullest(func(l *lane) int { return l.transitions })
	return full != nil && full.transitions <= q.lanes.of[p.object.Namespace].transitions
}

// evict drops everything pending of one object: of the one that arrived, if its namespace
// has the most, otherwise of one in that namespace that would be written late. It reports
// whether there was one.
func (q *queue) evict(came *pending, size func(*lane) int) bool {
	full := q.lanes.fullest(size)
	own := q.lanes.of[came.object.Namespace]
	if len(came.transitions) > 0 && !came.taken && (full == nil || own != nil && size(own) >= size(full)) {
		q.drop(came, len(came.transitions))
		q.close(came, came.wrote)
		return true
	}
	if full == nil || len(full.line) == 0 {
		return false
	}
	victim := full.line[len(full.line)-1]
	q.drop(victim, len(victim.transitions))
	q.close(victim, victim.wrote)
	return true
}

// drop drops the oldest transitions of an object. The leader loses them: no other replica
// records them without a hint. For other replicas, they are left to the leader.
func (q *queue) drop(p *pending, n int) {
	dropped := p.transitions[:n]
	p.transitions = slices.Clone(p.transitions[n:])
	q.count(p, -1, dropped...)
	if !q.leads {
		q.settle(dropped, ownership.OutcomeLeft)
		return
	}
	q.settle(dropped, ownership.OutcomeLost)
	q.lost += n
	for _, d := range dropped {
		p.lost = p.lost.and(loss{1, d.ResourceVersion})
	}
}

// leaveToLeader leaves to the leader what the leader has to write.
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
