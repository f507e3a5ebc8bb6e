package tracker

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Deletions receives the objects that are going or gone. Its methods never block.
type Deletions interface {
	// Going receives every version of an object with a deletion timestamp.
	Going(o ownership.Object, version string, refs []metav1.OwnerReference, owners []ownership.Holder)
	// Gone receives every object that is gone, with the resourceVersion of its deletion. The checkpoint
	// does not pass the deletion until settled has been called. gap means that the object was missing in
	// a list, so only its name is known.
	Gone(o ownership.Object, version string, at time.Time, gap bool, refs []metav1.OwnerReference, owners []ownership.Holder, settled func())
	// Lives reports a namespace that exists and is not being deleted.
	Lives(namespace string)
}

func (w *watched) object(namespace, name string, uid types.UID) ownership.Object {
	return ownership.Object{APIVersion: w.resource.GroupVersion().String(), Kind: w.name, Namespace: namespace, Name: name, UID: uid}
}

// going passes on that an object exists, which matters if it is being deleted.
func (f *follower) going(o *metav1.PartialObjectMetadata) {
	switch d := f.opts.Deletions; {
	case d == nil || o.UID == "":
	case o.DeletionTimestamp != nil:
		d.Going(f.object(o.Namespace, o.Name, o.UID), o.ResourceVersion, o.OwnerReferences, ownership.LastOwners(o.ManagedFields))
	case f.resource.Resource == "namespaces" && f.resource.Group == "":
		d.Lives(o.Name)
	}
}

// gone handles the end of an object. The checkpoint stays before it until it is recorded.
func (f *follower) gone(o *metav1.PartialObjectMetadata, now time.Time) {
	excluded := f.namespaced && slices.Contains(f.opts.ExcludeNamespaces, o.Namespace)
	if f.opts.Deletions == nil || o.UID == "" || excluded {
		f.do(func(s *state) []*pendingChange { s.deleted(f.watched, o.UID, o.ResourceVersion, now); return nil })
		return
	}
	var m *pendingChange
	f.do(func(s *state) []*pendingChange {
		m = s.hold(f.watched, o.UID, o.ResourceVersion, now)
		s.deleted(f.watched, o.UID, o.ResourceVersion, now)
		return nil
	})
	f.opts.Deletions.Gone(f.object(o.Namespace, o.Name, o.UID), o.ResourceVersion, now, false, o.OwnerReferences, ownership.LastOwners(o.ManagedFields), func() { f.release(m) })
}

// missing passes on the objects that a list of the present state no longer has.
func (f *follower) missing(all map[types.UID]remembered, now time.Time) {
	for uid, o := range all {
		f.opts.Deletions.Gone(f.object(o.namespace.Value(), o.name, uid), "", now, true, nil, nil, func() {})
	}
}

func (t *Tracker) release(m *pendingChange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m.settled = true
}

// hold keeps the checkpoint before a version until the result is settled.
func (s *state) hold(w *watched, uid types.UID, version string, now time.Time) *pendingChange {
	m := &pendingChange{watched: w, before: w.position(), version: version, uid: uid, holds: true, span: Span{now, now}}
	if len(s.given) >= s.clearAt {
		s.given = slices.DeleteFunc(s.given, func(m *pendingChange) bool { return m.settled })
		s.clearAt = 2*len(s.given) + 64
	}
	s.given = append(s.given, m)
	return m
}

// unlisted returns the remembered objects that the present list lacks.
func (m *memory) unlisted() map[types.UID]remembered {
	out := map[types.UID]remembered{}
	for uid, o := range m.objects {
		if o.round != m.round {
			out[uid] = o
		}
	}
	return out
}
