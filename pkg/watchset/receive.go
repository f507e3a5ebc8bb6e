package watchset

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// receive takes note of a change, and passes it on.
func (v *View) receive(change object.Change, giveUp context.CancelCauseFunc, tell func(object.Change)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch c := change.(type) {
	case object.Present:
		v.blind.end()
		if v.named == nil || v.named[c.Object.GetName()] {
			v.known[keyOf(c.Object)] = sighting{c.Object.GetUID(), v.watches}
		}
	case object.Gone:
		v.blind.end()
		delete(v.known, keyOf(c.Object))
	case object.Synced:
		v.blind.end()
		if !v.listed { // Later, the watch names what goes.
			v.listed, v.seen = true, true
			v.tellMissing(tell)
		}
	case object.Unreadable:
		v.blind.add(c.Err, v.Tolerates(), &v.mu, giveUp)
	}
	tell(change)
}

func keyOf(u *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// tellMissing tells of what the first list of a watch lacks: objects that an earlier
// watch knew, and names that none has seen.
func (v *View) tellMissing(tell func(object.Change)) {
	missing := map[types.NamespacedName]types.UID{}
	namespace := v.selection().Namespace
	for name := range v.named {
		missing[types.NamespacedName{Namespace: namespace, Name: name}] = ""
	}
	for key, seen := range v.known {
		if seen.watch == v.watches {
			delete(missing, key)
		} else {
			missing[key] = seen.uid
		}
	}
	for key, uid := range missing {
		delete(v.known, key)
		tell(object.Gone{Object: v.stub(key, uid)})
	}
}

// stub is what is known of an object that is not there.
func (v *View) stub(key types.NamespacedName, uid types.UID) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v.Kind.GVK)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	u.SetUID(uid)
	return u
}
