package object

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Selection selects objects of a kind: those that match all of it.
type Selection struct {
	// Namespace is empty for all namespaces, and for kinds that have none.
	Namespace string
	// Name is empty for all names.
	Name string
	// Labels is a label selector as in kubectl; empty for all labels.
	Labels string
	// Fields is a field selector as in kubectl, which the server evaluates; empty for all.
	Fields string
}

// Narrowed reports whether an object can leave the selection without being deleted.
func (s Selection) Narrowed() bool { return s.Labels != "" || s.Fields != "" }

// Change is a report of a watch: one of the structs below.
type Change interface{ change() }

// Present says that the object exists at this version. It was listed, added or changed.
type Present struct {
	Object *unstructured.Unstructured
}

// Gone says that the object was deleted. If a later list found it missing, only its namespace, name
// and UID may be known.
type Gone struct {
	Object *unstructured.Unstructured
}

// Synced says that every selected object has been reported, so that an object without Present does
// not exist. It comes after each list, and when changes can be read again after an Unreadable.
type Synced struct{}

// Unreadable says that changes cannot be read at present, for a transient reason. The known objects
// may be outdated until the next Present or Synced.
type Unreadable struct {
	Err error
}

func (Present) change()    {}
func (Gone) change()       {}
func (Synced) change()     {}
func (Unreadable) change() {}

// Stub returns what is still known of an object that is gone.
func Stub(kind Kind, key types.NamespacedName, uid types.UID) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GVK)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	u.SetUID(uid)
	return u
}
