package object

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Selection selects the objects of a kind that match all of its non-empty fields.
type Selection struct {
	// Namespace limits the selection to a namespace. An empty Namespace selects all namespaces. It
	// is also empty for cluster-scoped kinds.
	Namespace string
	Name      string
	Labels    string
	Fields    string
}

// Narrowed reports whether the selection is by labels or fields. An object can then leave the
// selection without being deleted.
func (s Selection) Narrowed() bool { return s.Labels != "" || s.Fields != "" }

// Change is a Present, Gone, Synced or Unreadable.
type Change interface{ change() }

// Present says that the object exists at this version.
type Present struct {
	Object *unstructured.Unstructured
}

// Gone says that the object was deleted. Its Object may contain only the namespace, name and UID.
type Gone struct {
	Object *unstructured.Unstructured
}

// Synced says that every selected object has been reported. The watch sends a Synced after each
// list, and when it continues after an Unreadable.
type Synced struct{}

// Unreadable says that the watch was interrupted. Objects may be outdated until the next Present or
// Synced.
type Unreadable struct {
	Err error
}

func (Present) change()    {}
func (Gone) change()       {}
func (Synced) change()     {}
func (Unreadable) change() {}

// Stub returns a placeholder for an object that is gone, with only the known fields.
func Stub(kind Kind, key types.NamespacedName, uid types.UID) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GVK)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	u.SetUID(uid)
	return u
}
