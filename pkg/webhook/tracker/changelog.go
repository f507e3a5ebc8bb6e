package tracker

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// watched is a resource that is watched.
type watched struct {
	kind
	memory
	changelog
	// missed is set when a list shows a change of which no event came.
	missed bool
	// refused is set while the API server forbids to watch it.
	refused bool
}

// changelog is the position up to which the changes of one resource were seen, and those of them
// that may not be recorded yet.
type changelog struct {
	// promised is the position of the checkpoint that was read: history is complete up to there.
	promised position
	// seen is the position up to which changes were seen; zero until a first list is read.
	seen position
	// newest is the server's position at the last request for it.
	newest position
	// began is when the current or the last list was requested.
	began time.Time
	// left combines the changes that were left to the leader; nil once its checkpoint has passed
	// all of them.
	left *pendingChange
}

// pendingChange is the unwritten part of one version of an object, or of one list after a gap. A
// tracker that starts at before sees it again.
type pendingChange struct {
	// watched is nil for a note read from beside the checkpoint.
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
	// span begins when it happened and ends when it was seen.
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

// gap is a span in which transitions may be unknown.
type gap struct {
	// Span is the time; zero if history was not kept at all.
	Span
	// blind is set if even the net change is unknown: the sink has to compare the owners it wrote
	// last with the current ones.
	blind bool
	// declared is set once the gap is to be stored.
	declared bool
	why      string
}

// Reasons to declare a gap.
const (
	noHistory       = "the API server does not tell any more what happened since"
	notLed          = "it was left to a leader, and none recorded it"
	noRoom          = "there was no room for it, or its record was refused for an hour"
	unreadableNotes = "what was noted beside the checkpoint is not readable"
)

// advance records that all changes up to a version were seen, and the earliest time at which that
// version was written; zero if unknown.
func (l *changelog) advance(version string, happened time.Time) {
	if l.seen.Version != "" && !newer(version, l.seen.Version) {
		return
	}
	if !newer(l.newest.Version, version) {
		happened = latest(happened, l.newest.Time)
	}
	l.seen = position{version, latest(happened, l.at().Time)}
}

// at is the position up to which history is known.
func (l *changelog) at() position {
	if l.seen.Version == "" {
		return l.promised
	}
	return l.seen
}

// passed forgets the changes that another replica's checkpoint has passed: they are recorded, or
// noted beside that checkpoint.
func (l *changelog) passed(version string) {
	if l.left != nil && !newer(l.left.version, version) {
		l.left = nil
	}
}

// leave keeps one change in place of all that were left to the leader. They may be unwritten until
// its checkpoint has passed the newest of them.
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

// without returns the pending changes for which drop is false.
func without(changes []*pendingChange, drop func(*pendingChange) bool) []*pendingChange {
	return slices.DeleteFunc(changes, drop)
}
