package tracker

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// book is all that a tracker knows. It is pure: it is told what happens, and when,
// and returns what is to be recorded now.
type book struct {
	grace     time.Duration
	resources map[schema.GroupResource]*watched
	hints     hints
	leading   bool

	// waiting matters have a little time yet for their hint, or come after one of the
	// same object that has; oldest first. waitingOf counts them by object.
	waiting   []*matter
	waitingOf map[types.UID]int
	// gaps are those that no leader has dealt with yet.
	gaps []*matter
	// undeclared has the gaps that were dealt with, until they are stored.
	undeclared Coverage

	counts counts
}

// soon is how long a change may take to be recorded while all is well.
const soon = 10 * time.Second

// counts are what happened, for the metrics.
type counts struct {
	joined, expired, dropped int
	gaps, unreadable         int
	errors                   int
}

// watched is a resource.
type watched struct {
	kind
	memory
	ledger
	// missed is set when a list shows a change that was not seen.
	missed bool
	// refused is set while it may not be watched.
	refused bool
}

func newBook(grace time.Duration) *book {
	return &book{grace: grace, resources: map[schema.GroupResource]*watched{}, waitingOf: map[types.UID]int{}}
}

// add begins with a resource, or goes on with it at another version of its API.
func (b *book) add(k kind, promised mark) *watched {
	w := b.resources[k.resource.GroupResource()]
	if w == nil {
		w = &watched{ledger: ledger{promised: promised}}
		b.resources[k.resource.GroupResource()] = w
	}
	w.kind = k
	return w
}

// remove forgets a resource that is not there any more.
func (b *book) remove(w *watched) {
	for _, m := range w.open {
		m.settled = true
	}
	delete(b.resources, w.resource.GroupResource())
}

// see is told of an object that was created or changed, or that is on a list.
// Where versions between may have been missed, gap is set.
func (b *book) see(w *watched, o *metav1.PartialObjectMetadata, gap bool, now time.Time) []*matter {
	if o.UID == "" {
		return nil
	}
	is := remember(o)
	was, changed := w.see(o.UID, is, gap)
	if !gap {
		defer w.advance(o.ResourceVersion, now)
	}
	if !changed {
		return nil
	}
	w.missed = w.missed || gap
	between := ownership.Between
	if gap {
		between = ownership.Apart
	}
	transitions, err := between(was.owners, is.owners)
	if err != nil {
		b.counts.unreadable++
		return nil
	}
	if len(transitions) == 0 {
		return nil
	}
	m := &matter{watched: w, version: is.version, uid: o.UID, from: was.version, to: is.owners, span: Span{now, now}}
	for _, t := range transitions {
		m.contested = m.contested || len(t.Lost()) > 0 && len(t.After) > 0
		m.occurrences = append(m.occurrences, w.occurrence(o.UID, is, t, gap, now))
		if at := m.occurrences[len(m.occurrences)-1].Time; at.Before(m.span.From) {
			m.span.From = at
		}
	}
	if m.contested {
		w.add(m)
	}
	return b.hinted(m, now)
}

// hinted returns the matter with what a hint says of it, if there is one, or where
// nobody lost anything; else it waits for one. What changed an object is told in its
// order: who records it takes what is older than what it has written for known.
func (b *book) hinted(m *matter, now time.Time) []*matter {
	ready := b.join(m) || !m.contested
	if ready && b.waitingOf[m.uid] == 0 {
		return give(m)
	}
	m.due = now
	if !ready {
		m.due = now.Add(b.grace)
	}
	b.waiting = append(b.waiting, m)
	b.waitingOf[m.uid]++
	return nil
}

// join gives the matter its user, and the verdicts of who saw the values, if there is
// a hint.
func (b *book) join(m *matter) bool {
	hint, ok := b.hints.take(m.uid, m.from, m.to)
	if !ok {
		return false
	}
	b.counts.joined++
	m.joined = true
	transitions := make([]ownership.Transition, len(m.occurrences))
	for i, o := range m.occurrences {
		transitions[i] = o.Transition
	}
	hint.Verdicts.On(transitions)
	for i := range m.occurrences {
		m.occurrences[i].Transition, m.occurrences[i].User = transitions[i], hint.User
	}
	return true
}

// gone is told of an object that was deleted.
func (b *book) gone(w *watched, uid types.UID, version string, now time.Time) {
	w.forget(uid)
	w.advance(version, now)
}

// bookmark is told that all up to a version was seen.
func (b *book) bookmark(w *watched, version string, now time.Time) { w.advance(version, now) }

// hint is told what admission saw. What waited for it is due.
func (b *book) hint(h ownership.Hint, now time.Time) {
	if b.hints.add(h, now) {
		b.counts.dropped++
	}
	if b.waitingOf[h.UID] == 0 {
		return
	}
	for _, m := range b.waiting {
		if m.uid == h.UID && m.from == h.ResourceVersion && !m.joined {
			b.join(m)
		}
	}
}

// due returns what need not wait any longer.
func (b *book) due(now time.Time) (out []*matter) {
	b.counts.expired += b.hints.expire(now)
	blocked := map[types.UID]bool{}
	b.waiting = without(b.waiting, func(m *matter) bool {
		if blocked[m.uid] || !m.joined && now.Before(m.due) {
			blocked[m.uid] = true
			return false
		}
		if b.waitingOf[m.uid]--; b.waitingOf[m.uid] == 0 {
			delete(b.waitingOf, m.uid)
		}
		out = append(out, give(m)...)
		return true
	})
	return out
}

func (b *book) declare(m *matter) {
	b.gaps = append(b.gaps, m)
	b.counts.gaps++
}

// lead is told whether this replica leads. What was left to a leader who did not come
// is a gap then.
func (b *book) lead(leading bool, now time.Time) {
	b.leading = leading
	if !leading {
		return
	}
	for _, w := range b.resources {
		if m := w.left; m != nil && !m.settled {
			m.gap = &gap{Span: Span{m.before.Time, now}, blind: true}
			b.declare(m)
			w.left = nil
		}
	}
}

// give returns a matter as one to be told, if it still is. It is settled when all in
// it that is to be recorded is.
func give(m *matter) []*matter {
	if m.settled {
		return nil
	}
	for _, o := range m.occurrences {
		if o.Notable() {
			m.unsettled++
		}
	}
	m.settled = m.unsettled == 0
	return []*matter{m}
}

// settle is told what became of one occurrence of a matter. What is lost is a gap: of
// the time from when it happened until it was seen, not every change is known.
func (b *book) settle(m *matter, end ownership.Outcome) {
	m.left = m.left || end == ownership.OutcomeLeft
	m.lost = m.lost || end == ownership.OutcomeLost
	if m.unsettled--; m.unsettled > 0 || m.settled {
		return
	}
	switch {
	case m.lost:
		m.gap = &gap{Span: m.span}
		b.gaps = append(b.gaps, m)
	case m.left:
		m.leave(m)
	default:
		m.settled = true
	}
}

// passed is told of a leader's checkpoint: what lies before it is written.
func (b *book) passed(c Checkpoint) {
	for name, mark := range c.Resources {
		if w := b.resources[schema.ParseGroupResource(name)]; w != nil {
			w.passed(mark.Version)
		}
	}
	b.gaps = without(b.gaps, isSettled)
}

// checkpoint is from where a start loses nothing.
func (b *book) checkpoint() Checkpoint {
	c := Checkpoint{Resources: map[string]mark{}}
	for name, w := range b.resources {
		if at := w.checkpoint(); at.Version != "" {
			c.Resources[name.String()] = at
		}
	}
	return c
}

// backlog is what waits to be recorded for longer than it takes while all is well;
// nil is nothing.
func (b *book) backlog(now time.Time) *Backlog {
	var out Backlog
	for _, w := range b.resources {
		for _, m := range w.open {
			if m.settled || m.gap != nil || m.left || now.Sub(m.span.To) < soon {
				continue
			}
			if out.Changes++; out.Changes == 1 || m.span.To.Before(out.Since) {
				out.Since = m.span.To.UTC().Truncate(time.Second)
			}
		}
	}
	if out.Changes == 0 {
		return nil
	}
	return &out
}

func isSettled(m *matter) bool { return m.settled }
