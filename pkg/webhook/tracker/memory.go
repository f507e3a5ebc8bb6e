package tracker

import (
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// memory contains the remembered objects of one resource.
type memory struct {
	objects map[types.UID]remembered
	// round is the number of the current or last list. fresh counts the objects in lists since the
	// last complete list that were not remembered.
	round uint32
	fresh int
}

// remembered is the state of one object. There may be a hundred thousand of them, so it must be
// small.
type remembered struct {
	namespace unique.Handle[string]
	name      string
	version   string
	owners    ownership.Owners
	round     uint32 // the list in which it was last seen, or that it came after
}

func remember(o *metav1.PartialObjectMetadata) remembered {
	return remembered{
		namespace: unique.Make(o.Namespace),
		name:      o.Name,
		version:   o.ResourceVersion,
		owners:    ownership.Tracked(o.ManagedFields),
	}
}

// see remembers an object. If the object has changed, see returns its previous state. It ignores a
// version that is older than the remembered one, except in a list, because etcd may have been
// restored.
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

// list begins a list of all objects.
func (m *memory) list() { m.round++ }

// forgetUnlisted ends a list, and forgets the objects that it lacks.
func (m *memory) forgetUnlisted() {
	for uid, o := range m.objects {
		if o.round != m.round {
			delete(m.objects, uid)
		}
	}
}

// newer reports whether a version is later than another one. If the versions differ and cannot be
// compared, newer returns true, because the version arrived later.
func newer(version, than string) bool { return version != than && !object.Newer(than, version) }

// There are two kinds of list. A list of the state at the checkpoint is followed by all changes,
// one by one. A list of the current state has a gap before it.

// resume begins the list at the checkpoint, with an empty memory.
func (s *state) resume(w *watched) {
	w.memory = memory{}
	w.list()
}

// resumed ends the list at the checkpoint.
func (s *state) resumed(w *watched) {
	w.forgetUnlisted()
	w.seen, w.fresh = w.promised, 0
}

// afresh begins a list of the current state. Remembered objects are compared.
func (s *state) afresh(w *watched, now time.Time) {
	w.list()
	w.began = now
}

// listed ends a list of the current state, at a version. If all objects in the list are remembered
// at their present versions, nothing happened since. The history of a new object since its creation
// is unknown. If there was no earlier watch, and there are no objects, nothing is missing. If the
// memory comes from a checkpoint, the records may be newer than the memory, so they are compared.
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
