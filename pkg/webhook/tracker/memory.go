package tracker

import (
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

type memory struct {
	objects map[types.UID]remembered
	// round is the number of the current list. fresh counts the objects that have been listed since
	// the last complete list, but were not remembered before.
	round uint32
	fresh int
}

// remembered is the state of an object in memory. It must be small, because there may be a hundred
// thousand of them.
type remembered struct {
	namespace unique.Handle[string]
	name      string
	version   string
	owners    ownership.Owners
	round     uint32 // the number of the list in which, or after which, the object was last seen
}

func remember(o *metav1.PartialObjectMetadata) remembered {
	return remembered{
		namespace: unique.Make(o.Namespace),
		name:      o.Name,
		version:   o.ResourceVersion,
		owners:    ownership.Tracked(o.ManagedFields),
	}
}

// see remembers an object, and returns its previous state if it has changed. It accepts an older
// version only from a list: etcd may have been restored.
func (m *memory) see(uid types.UID, now remembered, list bool) (was remembered, changed bool) {
	if m.objects == nil {
		m.objects = map[types.UID]remembered{}
	}
	was, known := m.objects[uid]
	now.round = m.round
	switch {
	case !known:
		m.objects[uid] = now
		if list {
			m.fresh++
		}
		return was, false
	case now.version == was.version, !list && !newer(now.version, was.version):
		was.round = m.round
		m.objects[uid] = was
		return was, false
	}
	m.objects[uid] = now
	return was, true
}

func (m *memory) forget(uid types.UID) { delete(m.objects, uid) }

func (m *memory) list() { m.round++ }

func (m *memory) forgetUnlisted() {
	for uid, o := range m.objects {
		if o.round != m.round {
			delete(m.objects, uid)
		}
	}
}

// newer reports whether the first version is newer than the second. It also returns true for
// versions that cannot be compared, because the first version arrived later.
func newer(version, than string) bool { return version != than && !object.Newer(than, version) }

// There are two kinds of list. A list of the state at the checkpoint (resume, resumed) is followed
// by all changes, one by one. A list of the current state (afresh, listed) is preceded by a gap.

func (s *state) resume(w *watched) {
	w.memory = memory{}
	w.list()
}

func (s *state) resumed(w *watched) {
	w.forgetUnlisted()
	w.seen, w.fresh = w.promised, 0
}

func (s *state) afresh(w *watched, now time.Time) {
	w.list()
	w.began = now
}

// listed ends a list of the current state, and adds a gap if changes may be missing. A new object
// also causes a gap, because its history is unknown. A first list that is empty causes no gap.
// After a start from a checkpoint there is always a gap, because the records may be newer than the
// memory.
func (s *state) listed(w *watched, version string, now time.Time) {
	w.forgetUnlisted()
	from := w.at()
	before := from.Version != ""
	if w.missed || w.fresh > 0 && before || w.seen.Version == "" && (before || len(w.objects) > 0) {
		m := &pendingChange{watched: w, version: version, gap: &gap{blind: true, why: noHistory}}
		if before {
			m.gap.Span = Span{from.Time, now}
		}
		s.gaps = append(s.gaps, m)
	}
	s.heard = now
	w.seen, w.missed, w.fresh = position{version, w.began}, false, 0
}
