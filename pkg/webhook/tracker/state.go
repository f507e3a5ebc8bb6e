package tracker

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// state is everything that a tracker knows. It does not read the clock and sends no requests: its
// methods take events with their times, and return changes to record.
type state struct {
	grace     time.Duration
	resources map[schema.GroupResource]*watched
	hints     hints
	leading   bool
	// heard is when the API server last sent something about any resource.
	heard time.Time

	// waiting contains, oldest first, the changes that are waiting for a hint or for an earlier
	// change to the same object. waitingOf counts them by object.
	waiting   []*pendingChange
	waitingOf map[types.UID]int
	// given contains the changes passed to the sink, oldest first. Settled changes are removed only
	// once there are many.
	given   []*pendingChange
	clearAt int
	// gaps contains the gaps that no leader has handled yet.
	gaps []*pendingChange
	// undeclared contains the handled gaps that no stored checkpoint contains yet.
	undeclared Coverage

	dirty bool // there are changes to note

	counts counts
}

// soon is how long a change usually takes to be recorded.
const soon = 10 * time.Second

type counts struct {
	expired, dropped int
	gaps, unreadable int
}

func newState(grace time.Duration) *state {
	return &state{grace: grace, resources: map[schema.GroupResource]*watched{}, waitingOf: map[types.UID]int{}}
}

func (s *state) add(k kind, promised position) *watched {
	w := s.resources[k.resource.GroupResource()]
	if w == nil {
		w = &watched{changelog: changelog{promised: promised}}
		s.resources[k.resource.GroupResource()] = w
	}
	w.kind = k
	return w
}

func (s *state) remove(w *watched) {
	for _, m := range s.waiting {
		m.settled = m.settled || m.watched == w
	}
	s.gaps = slices.DeleteFunc(s.gaps, func(m *pendingChange) bool { return m.watched == w })
	delete(s.resources, w.resource.GroupResource())
}

// onObject handles an object that exists. gap means that intermediate versions may have been missed.
func (s *state) onObject(w *watched, o *metav1.PartialObjectMetadata, gap bool, now time.Time) []*pendingChange {
	if !gap && o.UID != "" {
		defer w.advance(o.ResourceVersion, writtenAt(o, now))
	}
	return s.step(w, o, gap, now)
}

// step handles an object like see, but does not move the position.
func (s *state) step(w *watched, o *metav1.PartialObjectMetadata, gap bool, now time.Time) []*pendingChange {
	if o.UID == "" {
		return nil
	}
	s.heard = now
	if gap && w.unseen(o) {
		w.miss(o.UID)
	}
	is := remember(o)
	was, changed := w.remember(o.UID, is, gap)
	if !changed {
		return nil
	}
	between := ownership.Between
	if gap {
		between = ownership.Apart
	}
	transitions, err := between(was.owners, is.owners)
	if err != nil {
		s.counts.unreadable++
		return nil
	}
	if len(transitions) == 0 {
		return nil
	}
	m := &pendingChange{watched: w, before: w.position(), version: is.version, uid: o.UID, from: was.version, to: is.owners, metadata: ownership.MetadataOf(w.resource.GroupVersion().String(), o.Labels, o.Annotations), apart: gap, span: Span{now, now}}
	for _, t := range transitions {
		m.contested = m.contested || len(t.Lost()) > 0 && len(t.After) > 0
		m.occurrences = append(m.occurrences, w.occurrence(o.UID, is, t, gap, now))
		at, known := timeOf(t, now)
		if before := w.position().Time; !known && !before.IsZero() {
			at = before
		}
		if at.Before(m.span.From) {
			m.span.From = at
		}
	}
	return s.hinted(m, now)
}

// hinted returns the change if it has found its hint or needs none. Otherwise the change has to
// wait. An object's changes stay in order, because the recorder assumes that it knows everything
// older than its last write.
func (s *state) hinted(m *pendingChange, now time.Time) []*pendingChange {
	ready := s.join(m) || m.apart || !m.contested
	if ready && s.waitingOf[m.uid] == 0 {
		return s.give(m)
	}
	m.due = now
	if !ready {
		m.due = now.Add(s.grace)
	}
	s.waiting = append(s.waiting, m)
	s.waitingOf[m.uid]++
	return nil
}

// join adds the user and the verdicts of the matching hint to the change, and reports whether there
// is such a hint. It never joins a hint to a change that spans unwatched time: the hint's write may
// have been refused, and resent from another version.
func (s *state) join(m *pendingChange) bool {
	if m.apart {
		return false
	}
	transitions := make([]ownership.Transition, len(m.occurrences))
	for i, o := range m.occurrences {
		transitions[i] = o.Transition
	}
	hint, ok := s.hints.match(m.uid, m.from, m.to, m.metadata, transitions)
	if !ok {
		return false
	}
	m.joined = true
	hint.Verdicts.On(transitions)
	for i := range m.occurrences {
		transitions[i].Values = hint.Values[transitions[i].Path.String()]
		m.occurrences[i].Transition, m.occurrences[i].User = transitions[i], hint.User
	}
	return true
}

func (s *state) deleted(w *watched, uid types.UID, version string, now time.Time) {
	s.heard = now
	w.forget(uid)
	w.advance(version, time.Time{})
}

func (s *state) bookmark(w *watched, version string, now time.Time) {
	s.heard = now
	w.advance(version, time.Time{})
}

// asked records the server's position, which the tracker requested at the given time.
func (s *state) asked(w *watched, version string, at time.Time) { w.newest = position{version, at} }

// wrote records the version of our own write as the newest of every resource. Versions count the
// writes to the whole store, so every later version was written after the given time. If a resource
// has a store of its own, the time is wrong by at most one write.
func (s *state) wrote(version string, at time.Time) {
	for _, w := range s.resources {
		s.asked(w, version, at)
	}
}

func (s *state) hint(h ownership.Hint, now time.Time) {
	if s.hints.add(h, now) {
		s.counts.dropped++
	}
	if s.waitingOf[h.UID] == 0 {
		return
	}
	for _, m := range s.waiting {
		if m.uid == h.UID && m.from == h.ResourceVersion && !m.joined {
			s.join(m)
		}
	}
}

func (s *state) due(now time.Time) (out []*pendingChange) {
	s.counts.expired += s.hints.expire(now)
	blocked := map[types.UID]bool{}
	s.waiting = slices.DeleteFunc(s.waiting, func(m *pendingChange) bool {
		if blocked[m.uid] || !m.joined && now.Before(m.due) {
			blocked[m.uid] = true
			return false
		}
		if s.waitingOf[m.uid]--; s.waitingOf[m.uid] == 0 {
			delete(s.waitingOf, m.uid)
		}
		out = append(out, s.give(m)...)
		return true
	})
	return out
}

// lead sets whether this replica leads. Transitions left to a leader become a gap if no leader has
// taken them over.
func (s *state) lead(leading bool, now time.Time) {
	s.leading = leading
	if !leading {
		return
	}
	for _, w := range s.resources {
		if m := w.left; m != nil {
			s.gaps = append(s.gaps, &pendingChange{watched: w, version: m.version, gap: &gap{Span: Span{m.before.Time, now}, of: ownership.AffectedBy(w.groupKind()), blind: true, why: notLed}})
			w.left = nil
		}
	}
}

// give returns the change, which is to be passed to the sink; nil if the change is already settled.
// A change is settled once all its notable occurrences are settled.
func (s *state) give(m *pendingChange) []*pendingChange {
	if m.settled {
		return nil
	}
	m.settled, m.open = true, make([]bool, len(m.occurrences))
	if m.watched != nil { // Notes have been fitted before.
		ownership.Fit(m.occurrences)
	}
	for i, o := range m.occurrences {
		if m.open[i] = o.Notable() && !o.Excess; m.open[i] {
			m.settled = false
		}
	}
	if !m.settled {
		if len(s.given) >= s.clearAt { // Remove settled changes even if an earlier change is still open.
			s.given = slices.DeleteFunc(s.given, func(m *pendingChange) bool { return m.settled })
			s.clearAt = 2*len(s.given) + 64
		}
		s.given = append(s.given, m)
		s.dirty = s.dirty || m.joined || s.leading
	}
	return []*pendingChange{m}
}

func (s *state) withOccurrences(occurrences []unrecorded, now time.Time) (out []*pendingChange) {
	for _, o := range occurrences {
		out = append(out, s.give(&pendingChange{uid: o.Object.UID, occurrences: []ownership.Occurrence{o.Occurrence}, span: Span{o.since, now}})...)
	}
	return out
}

// settle records the outcome of an occurrence. A lost occurrence becomes a gap, from when it
// happened until it was seen.
func (s *state) settle(m *pendingChange, i int, end ownership.Outcome) {
	m.deferred = m.deferred || end == ownership.OutcomeLeft
	m.lost = m.lost || end == ownership.OutcomeLost
	m.open[i] = false
	if slices.Contains(m.open, true) {
		return
	}
	m.settled = true
	switch {
	case m.lost:
		s.gaps = append(s.gaps, &pendingChange{watched: m.watched, version: m.version, gap: &gap{Span: m.span, of: affectedBy(m.occurrences[0].Object), why: noCapacity}})
	case m.deferred && m.watched != nil: // A change without a resource was read from a note, so the leader already knows it.
		m.leave(m)
	}
}

func (s *state) passed(c Checkpoint) {
	for name, position := range c.Resources {
		if w := s.resources[schema.ParseGroupResource(name)]; w != nil {
			w.passed(position.Version)
		}
	}
	s.gaps = slices.DeleteFunc(s.gaps, func(m *pendingChange) bool {
		at, ok := position{}, false
		if m.watched != nil {
			at, ok = c.Resources[m.resource.GroupResource().String()]
		}
		// Keep the gap while the checkpoint is at the position at which this replica started,
		// because the replica could not resume from there. If etcd was restored, that position is
		// ahead of everything.
		return ok && at.Version != m.promised.Version && !newer(m.version, at.Version)
	})
}

// stored is the content to store. A tracker that starts from it loses nothing.
type stored struct {
	checkpoint Checkpoint
	// seen contains the changes before the checkpoint's positions that are not recorded.
	seen []unrecorded
	news Coverage
}

// store returns the content to store, with at most the given number of notes. Each resource's
// position is before its first change that is waiting for a hint or is not noted.
func (s *state) store(most int, now time.Time) stored {
	s.dirty = false
	out := stored{checkpoint: Checkpoint{Heard: s.heard.UTC().Truncate(time.Second), Resources: map[string]position{}}, news: s.undeclared}
	held := map[*watched]position{}
	hold := func(m *pendingChange) {
		if before, ok := held[m.watched]; !m.settled && (!ok || newer(before.Version, m.before.Version)) {
			held[m.watched] = m.before
		}
	}
	for _, m := range s.given {
		notes := m.unsettled()
		if m.holds || m.watched != nil && len(out.seen)+len(notes) > most {
			hold(m)
			continue
		}
		out.seen = append(out.seen, notes...)
	}
	for _, m := range s.waiting {
		if m.contested {
			hold(m)
		}
	}
	for name, w := range s.resources {
		at, ok := held[w]
		if !ok {
			at = w.position()
		}
		if at.Version != "" {
			out.checkpoint.Resources[name.String()] = at
		}
	}
	s.undeclared = Coverage{}
	for _, m := range s.gaps {
		out.checkpoint.Compare = out.checkpoint.Compare || m.gap.blind
		if !m.gap.declared && m.gap.Span != (Span{}) {
			m.gap.declared = true
			s.counts.gaps++
			out.news.Add(Gap{m.gap.Span, m.gap.of})
		}
	}
	out.news.Behind = s.backlog(now)
	return out
}

func (s *state) unnoted() (out []unrecorded) {
	s.dirty = false
	for _, m := range s.given {
		if m.joined && !m.noted {
			m.noted = true
			for _, o := range m.unsettled() {
				if o.User != "" {
					out = append(out, o)
				}
			}
		}
	}
	return out
}

func (s *state) backlog(now time.Time) *Backlog {
	var out Backlog
	for _, m := range s.given {
		if m.settled || m.holds || now.Sub(m.span.To) < soon {
			continue
		}
		if out.Changes++; out.Changes == 1 || m.span.To.Before(out.Since) {
			out.Since = m.span.To.UTC().Truncate(time.Second)
		}
	}
	if out.Changes == 0 {
		return nil
	}
	return &out
}
