package unready

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Facts are what is known of an object that does not get ready, and of what its
// readiness rests on.
type Facts struct {
	// Object is what does not get ready.
	Object *unstructured.Unstructured
	// Others are objects that were read because of it: its Pods, their claims,
	// their warning events.
	Others []*unstructured.Unstructured
	// Present and Absent are objects that something refers to and of which no more
	// was asked than whether they are there. Whatever was to be read and is not
	// there is absent too.
	Present, Absent []object.Ref
	// Unread could not be looked at: what there is of it is unknown, not none.
	Unread []Unread
	// More is how many Pods that are not ready were left out of Others.
	More int
	// Now is when the facts were gathered; zero where no age may be told.
	Now time.Time
}

// Unread is what could not be read, and why.
type Unread struct {
	// Ref names one object; without a name it means all of the kind in the
	// namespace, or in the cluster.
	Ref object.Ref
	Err error
}

// Reader reads what a cluster holds. Errors are those of the API server: NotFound
// for an object that is not there, Forbidden for what may not be read; of a kind
// that is not served, meta.IsNoMatchError is true.
type Reader interface {
	// Read reads one object.
	Read(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error)
	// Exists tells whether an object is there, and reads nothing of what it holds.
	Exists(ctx context.Context, ref object.Ref) (bool, error)
	// Select calls visit for each object that is meant, one after the other. fields
	// is a field selector as kubectl takes it; empty for all.
	Select(ctx context.Context, gvk schema.GroupVersionKind, which object.Selection, fields string, visit func(*unstructured.Unstructured)) error
}
