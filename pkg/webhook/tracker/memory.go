package tracker

import (
	"maps"
	"slices"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

type memory struct {
	objects map[types.UID]remembered
	round   uint32 // the number of the current list
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

// remember remembers an object, and returns its previous state if it has changed. It accepts an older
// version only from a list: etcd may have been restored.
func (m *memory) remember(uid types.UID, now remembered, list bool) (was remembered, changed bool) {
	if m.objects == nil {
		m.objects = map[types.UID]remembered{}
	}
	was, known := m.objects[uid]
	now.round = m.round
	switch {
	case !known:
		m.objects[uid] = now
		return was, false
	case now.version == was.version, !list && !newer(now.version, was.version):
		was.round = m.round
		m.objects[uid] = was
		return was, false
	}
	m.objects[uid] = now
	return was, true
}

// keep marks a remembered object as listed, without seeing its version.
func (m *memory) keep(uid types.UID) {
	if was, known := m.objects[uid]; known {
		was.round = m.round
		m.objects[uid] = was
	}
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
	w.memory, w.whole = memory{}, false
	w.list()
}

func (s *state) resumed(w *watched) {
	w.forgetUnlisted()
	w.seen, w.missed, w.whole = w.promised, nil, true
}

func (s *state) afresh(w *watched, now time.Time) {
	w.list()
	w.began = now
}

// listed ends a list of the current state, and adds a gap of the objects whose changes may be
// missing. Without an earlier position, the gap has no span. A first list that is empty causes no
// gap.
func (s *state) listed(w *watched, version string, now time.Time) {
	w.forgetUnlisted()
	from := w.position()
	switch before := from.Version != ""; {
	case !before && len(w.objects) > 0:
		s.gaps = append(s.gaps, &pendingChange{watched: w, version: version, gap: &gap{blind: true, why: noHistory}})
	case before && w.restored:
		s.gaps = append(s.gaps, &pendingChange{watched: w, version: version, gap: &gap{
			Span: Span{from.Time, now}, of: ownership.AffectedBy(w.groupKind()), blind: true, why: noHistory,
		}})
	case before && len(w.missed) > 0:
		s.gaps = append(s.gaps, &pendingChange{watched: w, version: version, gap: &gap{
			Span: Span{from.Time, now}, of: ownership.AffectedBy(w.groupKind(), slices.Collect(maps.Keys(w.missed))...), missed: w.missed, blind: true, why: noHistory,
		}})
	}
	s.heard = now
	w.seen, w.missed, w.restored, w.whole = position{version, w.began}, nil, false, true
}

// unseenDeletions adds a gap if a list of the current state cannot show which objects have gone since
// the earlier position.
func (s *state) unseenDeletions(w *watched, version string, now time.Time) {
	if from := w.position(); from.Version != "" && !w.whole {
		s.gaps = append(s.gaps, &pendingChange{watched: w, version: version, gap: &gap{
			Span: Span{from.Time, now}, of: ownership.DeletionsOf(w.groupKind()), why: noHistory,
		}})
	}
}

// unseen reports whether an object that was listed has versions that were not seen. An object at the
// remembered version has none. Nor has one whose version is at or before the position up to which
// everything was seen, because versions of one kind can be compared (KEP-5504).
func (w *watched) unseen(o *metav1.PartialObjectMetadata) bool {
	if was, known := w.objects[o.UID]; known {
		return was.version != o.ResourceVersion
	}
	at := w.position().Version
	return at != "" && at != o.ResourceVersion && !object.Newer(at, o.ResourceVersion)
}

func (w *watched) miss(uid types.UID) {
	if w.missed == nil {
		w.missed = map[types.UID]bool{}
	}
	w.missed[uid] = true
}

func (k kind) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.resource.Group, Kind: k.name}
}

func affectedBy(o ownership.Object) ownership.Affected {
	return ownership.AffectedBy(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind(), o.UID)
}
