package tracker

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// watched is a resource.
type watched struct {
	kind
	memory
	changelog
	// missed is set when a list shows a change that was not seen.
	missed bool
	// refused is set while it may not be watched.
	refused bool
}

// changelog is, for one resource, up to where it was seen, and what of that is not
// settled.
type changelog struct {
	// promised is where a checkpoint says that history was kept up to.
	promised position
	// seen is up to where it was seen; nothing until a first list is read.
	seen position
	// newest is where the server was when it was asked last.
	newest position
	// began is when the list that is read, or was read last, was asked for.
	began time.Time
	// open holds pending changes, oldest first. Settled ones may stay for a while, and
	// are removed when there are many.
	open    []*pendingChange
	clearAt int
	// deferred is the open pending change of all that was left to the leader, and that no
	// checkpoint of that leader has passed.
	deferred *pendingChange
}

// pendingChange is what one version of an object, or one list after a gap, leaves to be
// written. A tracker that starts at before sees it again.
type pendingChange struct {
	*watched
	before  position
	version string // of the resource, from which on it is in the past

	uid         types.UID
	from        string // version of the object before
	to          ownership.Owners
	occurrences []ownership.Occurrence // until they are recorded
	contested   bool                   // an owner lost what others hold
	apart       bool                   // versions in between may have been missed

	gap *gap

	unsettled int
	joined    bool // a hint was found
	deferred  bool // to the leader
	lost      bool // at least one of its occurrences
	settled   bool
	// span is from when it happened to when it was seen.
	span Span
	due  time.Time
}

// gap is a time of which not every transition is known.
type gap struct {
	// Span is the time; none where it is not known that history was kept.
	Span
	// blind is set if not even the total change is known: the sink has to compare what it
	// wrote.
	blind bool
	why   string
}

// Why a time is declared as a gap.
const (
	noHistory = "the API server does not tell any more what happened since"
	notLed    = "it was left to a leader, and none recorded it"
	noRoom    = "there was no room for it, or its record was refused for an hour"
)

// advance notes that all up to a version was seen, and when that happened, at the
// earliest; no time where that is not known.
func (l *changelog) advance(version string, happened time.Time) {
	if l.seen.Version != "" && !newer(version, l.seen.Version) {
		return
	}
	if !newer(l.newest.Version, version) {
		happened = latest(happened, l.newest.Time)
	}
	l.seen = position{version, latest(happened, l.at().Time)}
}

// at is up to where history is known.
func (l *changelog) at() position {
	if l.seen.Version == "" {
		return l.promised
	}
	return l.seen
}

func (l *changelog) add(m *pendingChange) {
	m.before = l.at()
	if len(l.open) >= l.clearAt { // One that stays open for long must not keep all after it.
		l.open = without(l.open, isSettled)
		l.clearAt = 2*len(l.open) + 64
	}
	l.open = append(l.open, m)
}

// checkpoint is from where nothing is lost: behind all that was seen, but before
// the oldest that is not settled.
func (l *changelog) checkpoint() position {
	l.sweep()
	if len(l.open) > 0 {
		return l.open[0].before
	}
	return l.at()
}

// passed settles what another replica's checkpoint has left behind.
func (l *changelog) passed(version string) {
	for _, m := range l.open {
		if !newer(m.version, version) {
			m.settled = true
		}
	}
	l.sweep()
}

// sweep drops settled changes at the front, where they are visible.
func (l *changelog) sweep() {
	n := 0
	for n < len(l.open) && l.open[n].settled {
		n++
	}
	clear(l.open[:n])
	l.open = l.open[n:]
}

// postpone keeps one pending change open for all that were left to the leader: until its
// checkpoint has passed the newest of them, they may not be written.
func (l *changelog) postpone(m *pendingChange) {
	if first := l.deferred; first != nil && !first.settled && first.gap == nil {
		if newer(m.version, first.version) {
			first.version = m.version
		}
		m.settled = true
		return
	}
	l.deferred = m
}

func isSettled(m *pendingChange) bool { return m.settled }

// without returns the pending changes of which drop does not hold.
func without(changes []*pendingChange, drop func(*pendingChange) bool) []*pendingChange {
	return slices.DeleteFunc(changes, drop)
}
