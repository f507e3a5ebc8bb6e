package tracker

import (
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// memory holds the remembered objects of one resource.
type memory struct {
	objects map[types.UID]remembered
	// round is the current or the last list. fresh counts the objects in lists that were not
	// remembered, since the last complete list.
	round uint32
	fresh int
}

// remembered is one object. There may be a hundred thousand of them.
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

// see remembers an object as it is now, and returns its former state if that was remembered at
// another version. It ignores a change that is older than the memory; but a list is always right,
// because the remembered history may have been undone (a restored etcd).
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

// forgetUnlisted forgets, at the end of a list, the objects that were not on it.
func (m *memory) forgetUnlisted() {
	for uid, o := range m.objects {
		if o.round != m.round {
			delete(m.objects, uid)
		}
	}
}

// newer reports whether a version of a resource is later than another one. A version that differs
// and cannot be compared counts as later, because it arrived later.
func newer(version, than string) bool { return version != than && !object.Newer(than, version) }
