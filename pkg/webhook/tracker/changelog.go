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

// changelog is, for one resource, the position up to which it was seen, and the part that may not
// be recorded yet.
type changelog struct {
	// promised is where a checkpoint says that history was kept up to.
	promised position
	// seen is up to where it was seen; nothing until a first list is read.
	seen position
	// newest is where the server was when it was asked last.
	newest position
	// began is when the list that is read, or was read last, was asked for.
	began time.Time
	// left is what was left to the leader, as one change; nil if its checkpoint has passed
	// all of it.
	left *pendingChange
}

// pendingChange is what one version of an object, or one list after a gap, leaves to be
// written. A tracker that starts at before sees it again.
type pendingChange struct {
	// watched is nil for what was noted beside the checkpoint.
	*watched
	before  position
	version string // of the resource, from which on it is in the past

	uid         types.UID
	from        string // version of the object before
	to          ownership.Owners
	occurrences []ownership.Occurrence
	contested   bool // an owner lost what others hold
	apart       bool // versions in between may have been missed

	gap *gap

	open     []bool // the occurrences that are not settled
	joined   bool   // a hint was found
	deferred bool   // to the leader
	lost     bool   // at least one of its occurrences
	noted    bool   // to the leader, by a note
	settled  bool
	// span is from when it happened to when it was seen.
	span Span
	due  time.Time
}

// unsettled returns the occurrences that are neither recorded nor given up.
func (m *pendingChange) unsettled() (out []unrecorded) {
	for i, open := range m.open {
		if open {
			out = append(out, unrecorded{m.occurrences[i], m.span.From})
		}
	}
	return out
}

// gap is a time of which not every transition is known.
type gap struct {
	// Span is the time; none where it is not known that history was kept.
	Span
	// blind is set if not even the total change is known: the sink has to compare what it
	// wrote.
	blind bool
	// declared is set once the time is to be stored.
	declared bool
	why      string
}

// Why a time is declared as a gap.
const (
	noHistory       = "the API server does not tell any more what happened since"
	notLed          = "it was left to a leader, and none recorded it"
	noRoom          = "there was no room for it, or its record was refused for an hour"
	unreadableNotes = "what was noted beside the checkpoint is not readable"
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

// passed forgets what another replica's checkpoint has left behind: it is recorded, or
// noted beside that checkpoint.
func (l *changelog) passed(version string) {
	if l.left != nil && !newer(l.left.version, version) {
		l.left = nil
	}
}

// leave keeps one change for all that were left to the leader: until its checkpoint has
// passed the newest of them, they may not be written.
func (l *changelog) leave(m *pendingChange) {
	if l.left != nil {
		if newer(m.version, l.left.version) {
			l.left.version = m.version
		}
		return
	}
	l.left = m
}

func isSettled(m *pendingChange) bool { return m.settled }

// without returns the pending changes of which drop does not hold.
func without(changes []*pendingChange, drop func(*pendingChange) bool) []*pendingChange {
	return slices.DeleteFunc(changes, drop)
}
