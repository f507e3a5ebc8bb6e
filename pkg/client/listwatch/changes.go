package listwatch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// sighting is an object as it was last reported.
type sighting struct {
	uid     types.UID
	version string
	round   int
}

// present reports an object, unless this version of it was reported already.
func (w *watching) present(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	before, known := w.known[key]
	now := sighting{uid: u.GetUID(), version: u.GetResourceVersion(), round: w.round}
	w.known[key] = now
	switch {
	case !known:
	case before.uid != now.uid:
		w.tell(object.Gone{Object: w.stub(key, before)})
	case before.version == now.version && now.version != "":
		return
	}
	w.tell(object.Present{Object: u})
}

// gone reports that an object no longer exists.
func (w *watching) gone(u *unstructured.Unstructured) {
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	if before, known := w.known[key]; known && before.uid == u.GetUID() {
		delete(w.known, key)
		w.tell(object.Gone{Object: u})
	}
}

// sweep ends a list: an object that was known and is not listed is gone.
func (w *watching) sweep() {
	for key, seen := range w.known {
		if seen.round != w.round {
			delete(w.known, key)
			w.tell(object.Gone{Object: w.stub(key, seen)})
		}
	}
	w.synced()
}

// stub is what remains known of an object that no longer exists.
func (w *watching) stub(key types.NamespacedName, seen sighting) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(w.kind.GVK)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	u.SetUID(seen.uid)
	return u
}

func (w *watching) synced() {
	w.blind = false
	w.tell(object.Synced{})
}

func (w *watching) unreadable(err error) {
	w.blind = true
	w.tell(object.Unreadable{Err: err})
}
