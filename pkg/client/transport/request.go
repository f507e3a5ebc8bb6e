package transport

import (
	"context"
	"io"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Request describes a request, except for how to send it.
type Request struct {
	// Ref is the object of the request, without a name if the request concerns a kind.
	Ref object.Ref
	// About are the objects that the server's warnings concern; Ref alone if nil.
	About []object.Ref
	// Guarded requests are bound to a resource version: a conflict because it is no
	// longer current is an answer.
	Guarded bool
	// Creates makes an object that is there a conflict. After an attempt without an answer,
	// that object may be the one that this request has created.
	Creates bool
	// NewlyServed requests are about a kind that was not served a moment ago. If several
	// API servers share the work, some may lag behind.
	NewlyServed bool
	// Quiet requests are internal: their warnings are not shown.
	Quiet bool
	// Bulk requests take as long as their data takes to move, so their time says nothing
	// about the server.
	Bulk bool
	// Patience names what the time for retries is shared with: all requests of that name,
	// until one of them is answered. A server that does not say what it serves is given up
	// once, and not kind by kind. That time bounds silence as well, since these are questions
	// that a server answers from its memory; other requests may have to wait for webhooks or
	// for etcd, and a server that is well may take as long for them as it likes.
	Patience string
	// Asked, if it is not nil, is closed once the answer is needed. Until then the request is a
	// prefetch: it is not reported, and a failure waits until its result is needed.
	Asked <-chan struct{}
	// wrote: it was sent to change something, and the server has not said that it
	// did not.
	wrote *atomic.Bool
}

// ahead reports whether nothing needs the answer yet.
func (r Request) ahead() bool {
	if r.Asked == nil {
		return false
	}
	select {
	case <-r.Asked:
		return false
	default:
		return true
	}
}

// GroupPath returns where a group version is served.
func GroupPath(group, version string) []string {
	if group == "" {
		return []string{"/api", version}
	}
	return []string{"/apis", group, version}
}

// ResourcePath returns where objects of the kind are served.
func ResourcePath(kind object.Kind, namespace string, rest ...string) []string {
	path := GroupPath(kind.GVK.Group, kind.GVK.Version)
	if kind.Namespaced {
		path = append(path, "namespaces", namespace)
	}
	return append(append(path, kind.Resource), rest...)
}

// Read sends a request and reads the whole answer. Unlike DoRaw, Stream decodes the
// server's errors and passes on its warnings.
func Read(ctx context.Context, r *rest.Request) ([]byte, error) {
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // It was read, or it failed before.
	return io.ReadAll(body)
}
