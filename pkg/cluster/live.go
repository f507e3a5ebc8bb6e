package cluster

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// worthList is from how many objects of one namespace on one list is read
// instead of each by itself: fewer are let through at once even at first, and
// take no longer.
const worthList = 6

// Live reads the objects of one kind and calls visit once for each of them, one
// call at a time, in any order: with nil for one that does not exist, with an
// error for one that could not be read. Many objects of a namespace are read by
// one list, as far as we may list and the namespace does not hold far more than
// what is asked for. The objects belong to visit, and only those that it keeps
// are kept. No object may be named twice.
func (c *Client) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error)) {
	r := reading{client: c, kind: kind, refs: refs, visit: visit}
	namespaces := map[string]map[string]int{}
	for i, ref := range refs {
		if namespaces[ref.Namespace] == nil {
			namespaces[ref.Namespace] = map[string]int{}
		}
		namespaces[ref.Namespace][ref.Name] = i
	}
	var wait sync.WaitGroup
	for namespace, left := range namespaces {
		wait.Go(func() { r.namespace(ctx, namespace, left) })
	}
	wait.Wait()
}

// reading is one call of Live.
type reading struct {
	client *Client
	kind   object.Kind
	refs   []object.Ref

	mu    sync.Mutex // serialises visit
	visit func(i int, live *unstructured.Unstructured, err error)
}

func (r *reading) see(i int, live *unstructured.Unstructured, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.visit(i, live, err)
}

// namespace reads the objects of one namespace. left, name → index, loses those
// that are done.
func (r *reading) namespace(ctx context.Context, namespace string, left map[string]int) {
	if len(left) < worthList || !slices.Contains(r.kind.Verbs, "list") {
		r.each(ctx, left)
		return
	}
	whole, err := r.list(ctx, namespace, left)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err), err == nil && !whole:
		r.each(ctx, left)
	default:
		for _, i := range left {
			r.see(i, nil, err) // absent, if err is nil
		}
	}
}

// each reads objects one by one.
func (r *reading) each(ctx context.Context, left map[string]int) {
	var g errgroup.Group
	g.SetLimit(maxConcurrency)
	for _, i := range left {
		g.Go(func() error {
			live, err := r.client.Get(ctx, r.kind, r.refs[i])
			if apierrors.IsNotFound(err) {
				live, err = nil, nil
			}
			r.see(i, live, err)
			return nil
		})
	}
	_ = g.Wait() // Errors are visited.
}
