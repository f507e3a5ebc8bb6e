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
	// Fields is a field selector as kubectl takes it, for the server to judge; empty
	// for all.
	Fields string
}

// Narrowed reports whether an object can leave the selection and still be there.
func (s Selection) Narrowed() bool { return s.Labels != "" || s.Fields != "" }

// Change is what a watch has to tell. It is one of the structs below.
type Change interface{ change() }

// Present says that the object is there, in this version: found by a list, added
// or changed.
type Present struct {
	Object *unstructured.Unstructured
}

// Gone says that the object was deleted. Of objects that were found missing by a
// later list, no more than namespace, name and UID may be known.
type Gone struct {
	Object *unstructured.Unstructured
}

// Synced says that everything selected has been told: what was not Present is not
// there. It comes once the first list is read, after each later one, and when
// changes can be seen again after an Unreadable.
type Synced struct{}

// Unreadable says that changes cannot be seen at present, for a reason that may
// pass. What is known may be out of date until the next Present or Synced.
type Unreadable struct {
	Err error
}

func (Present) change()    {}
func (Gone) change()       {}
func (Synced) change()     {}
func (Unreadable) change() {}
