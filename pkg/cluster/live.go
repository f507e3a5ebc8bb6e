package cluster

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// worthList is from how many objects of one namespace on one list is read
// instead of each by itself.
const worthList = 6

// Live reads the objects of one kind and calls visit once for each of them, one
// call at a time, in any order: with nil for one that does not exist, with an
// error for one that could not be read. Many objects of a namespace are read by
// one list, as far as we may list and the namespace does not hold far more than
// what is asked for.
func (c *Client) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error)) {
	r := reading{client: c, kind: kind, refs: refs, visit: visit, left: map[string]map[string]int{}}
	for i, ref := range refs {
		if r.left[ref.Namespace] == nil {
			r.left[ref.Namespace] = map[string]int{}
		}
		r.left[ref.Namespace][ref.Name] = i
	}
	var wait sync.WaitGroup
	for namespace, names := range r.left {
		wait.Go(func() { r.namespace(ctx, namespace, names) })
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
	// left are the objects that were not visited yet: namespace, name → index. The
	// inner map belongs to the goroutine of its namespace.
	left map[string]map[string]int
}

func (r *reading) see(i int, live *unstructured.Unstructured, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.visit(i, live, err)
}

// namespace reads the objects of one namespace. names loses those that are done.
func (r *reading) namespace(ctx context.Context, namespace string, names map[string]int) {
	if len(names) >= worthList {
		done, err := r.list(ctx, namespace, names)
		switch {
		case err != nil && !apierrors.IsForbidden(err):
			for _, i := range names {
				r.see(i, nil, err)
			}
			return
		case err == nil && done:
			for _, i := range names {
				r.see(i, nil, nil)
			}
			return
		}
	}
	var wait sync.WaitGroup
	for _, i := range names {
		wait.Go(func() {
			live, err := r.client.Get(ctx, r.kind, r.refs[i])
			if apierrors.IsNotFound(err) {
				live, err = nil, nil
			}
			r.see(i, live, err)
		})
	}
	wait.Wait()
}
