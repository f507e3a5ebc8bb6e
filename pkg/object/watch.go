package object

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Selection says which objects of a kind are meant: those that match all of it.
type Selection struct {
	// Namespace is empty for all namespaces, and for kinds that have none.
	Namespace string
	// Name is empty for all names.
	Name string
	// Labels is a label selector as kubectl takes it; empty for all labels.
	Labels string
	// Fields is a field selector as kubectl takes it, for the server to evaluate;
	// empty for all.
	Fields string
}

// Narrowed reports whether an object can leave the selection and still exist.
func (s Selection) Narrowed() bool { return s.Labels != "" || s.Fields != "" }

// Change is what a watch reports. It is one of the structs below.
type Change interface{ change() }

// Present says that the object exists in this version: found by a list, added or
// changed.
type Present struct {
	Object *unstructured.Unstructured
}

// Gone says that the object was deleted. If a later list found it missing, only its
// namespace, name and UID may be known.
type Gone struct {
	Object *unstructured.Unstructured
}

// Synced says that every selected object has been reported: what was not Present
// does not exist. It comes after the first list, after each later one, and when
// changes can be seen again after an Unreadable.
type Synced struct{}

// Unreadable says that changes cannot be seen at present, for a transient reason. The known objects
// may be out of date until the next Present or Synced.
type Unreadable struct {
	Err error
}

func (Present) change()    {}
func (Gone) change()       {}
func (Synced) change()     {}
func (Unreadable) change() {}
