package tracker

import (
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// status is the subresource whose owners are not tracked: who writes a status
// owns it, and it is written all the time.
const status = "status"

// memory is what is remembered of the objects of one resource.
type memory struct {
	objects map[types.UID]remembered
	// round is the list that is read, or was read last.
	round uint32
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
		owners:    ownership.Compact(o.ManagedFields).Without(status),
	}
}

// see remembers an object as it is now, and returns what it was. An object that
// is seen for the first time was nothing. What is older than what is remembered,
// or the same again, is left alone.
func (m *memory) see(uid types.UID, now remembered) (was remembered, changed bool) {
	if m.objects == nil {
		m.objects = map[types.UID]remembered{}
	}
	was, known := m.objects[uid]
	if known && !newer(now.version, was.version) {
		was.round = m.round
		m.objects[uid] = was
		return was, false
	}
	now.round = m.round
	m.objects[uid] = now
	return was, known
}

func (m *memory) forget(uid types.UID) { delete(m.objects, uid) }

// list begins a list of all objects that there are.
func (m *memory) list() { m.round++ }

// listed forgets, at the end of a list, what was not on it.
func (m *memory) listed() {
	for uid, o := range m.objects {
		if o.round != m.round {
			delete(m.objects, uid)
		}
	}
}
