package tracker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

type watched struct {
	kind
	memory
	changelog
	// missed contains the objects whose changes, as a list has shown, were not all seen. restored
	// means that this concerns all objects, because the server's history is another one.
	missed   map[types.UID]bool
	restored bool
	refused  bool
	// whole means that memory has all objects that existed at the position. Without it, objects that
	// have gone since then are unknown.
	whole bool
}

// changelog is the position up to which the changes to a resource have been seen, together with the
// earlier changes that might not be recorded yet.
type changelog struct {
	// promised is the checkpoint's position at the start. The history is complete up to it.
	promised position
	// seen is the position up to which changes have been seen; zero before the first list.
	seen position
	// newest is the server's position when it was last requested.
	newest position
	began  time.Time // when the current or last list was requested
	// left represents all changes that were left to the leader. It is nil once the leader's
	// checkpoint has passed them.
	left *pendingChange
}

// pendingChange is an unwritten version of an object, or a list after a gap. A tracker that starts
// at its position (before) sees the change again.
type pendingChange struct {
	// watched is nil for a note that was read with the checkpoint.
	*watched
	before  position
	version string // resource version; a checkpoint at this version or later has passed the change

	uid         types.UID
	from        string // previous version of the object
	to          ownership.Owners
	metadata    ownership.Metadata
	occurrences []ownership.Occurrence
	contested   bool // an owner lost a path that others own
	apart       bool // versions in between may have been missed

	gap *gap

	open     []bool // the occurrences that are not settled
	joined   bool   // a hint was found
	deferred bool   // to the leader
	lost     bool   // at least one of its occurrences was lost
	noted    bool   // added to this replica's notes for the leader
	settled  bool
	holds    bool // the checkpoint stays before it: a deletion has no note
	// span is the time from the change until it was seen.
	span Span
	due  time.Time
}

func (m *pendingChange) unsettled() (out []unrecorded) {
	for i, open := range m.open {
		if open {
			out = append(out, unrecorded{m.occurrences[i], m.span.From})
		}
	}
	return out
}

type gap struct {
	// Span is zero if there was no earlier history.
	Span
	// of limits the gap to some objects. missed contains the same objects, unless it is nil.
	of     ownership.Affected
	missed map[types.UID]bool
	// blind means that not even the net change is known, so the sink must compare its records.
	blind    bool
	declared bool // in a checkpoint
	why      string
}

const (
	noHistory       = "the API server no longer has the changes since then"
	notLed          = "it was left to the leader, which did not record it"
	noCapacity      = "there was no room for it, or its record was refused for an hour"
	unreadableNotes = "the notes stored with the checkpoint cannot be decoded"
)

// advance records that all changes up to a version have been seen. happened is the earliest time at
// which the version may have been written; zero if unknown.
func (l *changelog) advance(version string, happened time.Time) {
	if l.seen.Version != "" && !newer(version, l.seen.Version) {
		return
	}
	if !newer(l.newest.Version, version) {
		happened = latest(happened, l.newest.Time)
	}
	l.seen = position{version, latest(happened, l.position().Time)}
}

func (l *changelog) position() position {
	if l.seen.Version == "" {
		return l.promised
	}
	return l.seen
}

// passed forgets the changes that another replica's checkpoint has passed, because that replica has
// recorded or noted them.
func (l *changelog) passed(version string) {
	if l.left != nil && !newer(l.left.version, version) {
		l.left = nil
	}
}

func (l *changelog) leave(m *pendingChange) {
	if l.left != nil {
		if newer(m.version, l.left.version) {
			l.left.version = m.version
		}
		return
	}
	l.left = m
}

// openGaps returns the gaps to handle now. blind means that the sink must compare its records.
func (s *state) openGaps() (gaps []*pendingChange, blind bool) {
	if !s.leading {
		return nil, false
	}
	gaps = slices.Clone(s.gaps)
	return gaps, slices.ContainsFunc(gaps, func(m *pendingChange) bool { return m.gap.blind })
}

// dealt removes the handled gaps. If no checkpoint contains a removed gap yet, the next checkpoint
// will declare it.
func (s *state) dealt(gaps []*pendingChange) {
	var news Coverage
	for _, m := range gaps {
		if !m.gap.declared && m.gap.Span != (Span{}) {
			news.Add(Gap{m.gap.Span, m.gap.of})
		}
		m.gap.declared = true
	}
	s.counts.gaps += len(news.Gaps)
	s.undeclared.Add(news.Gaps...)
	s.gaps = slices.DeleteFunc(s.gaps, func(m *pendingChange) bool { return slices.Contains(gaps, m) })
}

type gapSummary struct {
	resource, why string
	changes       int
	from, to      time.Time
}

// summarize combines the gaps of each resource with the same reason. It omits gaps without a span,
// because there was no history before them.
func summarize(gaps []*pendingChange) []gapSummary {
	sums := map[[2]string]gapSummary{}
	for _, m := range gaps {
		if m.gap.Span == (Span{}) {
			continue
		}
		key := [2]string{"", m.gap.why}
		if m.watched != nil {
			key[0] = m.resource.GroupResource().String()
		}
		sum, ok := sums[key]
		if !ok {
			sum = gapSummary{resource: key[0], why: key[1], from: m.gap.From, to: m.gap.To}
		}
		sum.changes++
		if m.gap.From.Before(sum.from) {
			sum.from = m.gap.From
		}
		sum.to = latest(sum.to, m.gap.To)
		sums[key] = sum
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b gapSummary) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.why, b.why))
	})
}

func (w *watched) occurrence(uid types.UID, o remembered, t ownership.Transition, gap bool, now time.Time) ownership.Occurrence {
	at, _ := timeOf(t, now)
	return ownership.Occurrence{
		Object: ownership.Object{
			APIVersion: w.resource.GroupVersion().String(), Kind: w.name,
			Namespace: o.namespace.Value(), Name: o.name, UID: uid,
		},
		Transition: t,
		Occasion:   ownership.Occasion{ResourceVersion: o.version, Time: at, Gap: gap},
	}
}

// timeOf returns when the new owner's entry last changed, by the API server's clock, so that all
// replicas agree. There is no such time for a write through /scale, or if an owner only loses a
// field. In these cases, timeOf returns the given time (seen), and known is false.
func timeOf(t ownership.Transition, seen time.Time) (at time.Time, known bool) {
	gained := t.Gained()
	if len(gained) == 0 {
		return seen, false
	}
	last := slices.MaxFunc(gained, func(a, b managedfields.Owner) int { return a.Time.Compare(b.Time) }).Time
	if last.IsZero() || last.After(seen) {
		return seen, false
	}
	return last, true
}

// writtenAt returns the earliest time at which the object may have been written. This is the latest
// time in its managed fields that is not after the given time (seen); zero if there is none.
func writtenAt(o *metav1.PartialObjectMetadata, seen time.Time) (at time.Time) {
	for _, e := range o.ManagedFields {
		if e.Time != nil && !e.Time.After(seen) {
			at = latest(at, e.Time.Time)
		}
	}
	return at
}
