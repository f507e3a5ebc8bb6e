package object

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Getter reads single objects.
type Getter interface {
	// Get reads one object; a missing one is an error.
	Get(ctx context.Context, kind Kind, ref Ref) (*unstructured.Unstructured, error)
}

// LiveReader reads many objects.
type LiveReader interface {
	// Live reads objects of one kind and calls visit for each, one at a time, with nil for a
	// missing one.
	Live(ctx context.Context, kind Kind, refs []Ref, visit func(i int, live *unstructured.Unstructured, err error))
}

// Applier reads and applies single objects.
type Applier interface {
	Getter
	// Apply sends a server-side apply and returns the server's answer.
	Apply(ctx context.Context, kind Kind, obj *unstructured.Unstructured, how Write) (*unstructured.Unstructured, error)
}

// Deleter deletes single objects.
type Deleter interface {
	// Delete deletes the object of how.UID and returns it if it still exists; nil if it is gone.
	Delete(ctx context.Context, kind Kind, ref Ref, how Deletion) (*unstructured.Unstructured, error)
}
