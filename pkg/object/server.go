package object

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Getter reads single objects.
type Getter interface {
	// Get returns an error if the object does not exist.
	Get(ctx context.Context, kind Kind, ref Ref) (*unstructured.Unstructured, error)
}

// LiveReader reads many objects.
type LiveReader interface {
	// Live calls visit for each object, one at a time. visit gets nil for a missing object.
	Live(ctx context.Context, kind Kind, refs []Ref, visit func(i int, live *unstructured.Unstructured, err error))
}

// Applier reads and applies single objects.
type Applier interface {
	Getter
	Apply(ctx context.Context, kind Kind, obj *unstructured.Unstructured, how Write) (*unstructured.Unstructured, error)
}

// Deleter deletes single objects.
type Deleter interface {
	// Delete returns the object's state after the deletion, or nil if the object is gone.
	Delete(ctx context.Context, kind Kind, ref Ref, how Deletion) (*unstructured.Unstructured, error)
}
