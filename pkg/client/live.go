package client

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// worthList is the number of objects in one namespace from which on one list is read
// instead of each object by itself: fewer are sent in parallel, and take no
// longer.
const worthList = 6

// apart is the number of definitions up to which each is read by a list of its own name. A
// cluster has many that a set does not need, of up to half a megabyte each; and for such a
// list the server takes what its cache has, while for a get it decodes what etcd has. So many
// are sent in parallel, with room for what else a run reads, unless the user
// allows few.
const apart = 32

// Live reads the objects of one kind and calls visit once for each of them, one call at a
// time, in any order: with nil for an object that does not exist, with an error for one
// that could not be read. It reads many objects of a namespace with one list, if we may
// list and the namespace does not hold far more objects than that; definitions it reads each
// by a list of one name, unless they are very many. visit may keep the objects; those that it
// does not keep are freed. No object may be named twice.
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

// namespace reads the objects of one namespace, by name.
func (r *reading) namespace(ctx context.Context, namespace string, left map[string]int) {
	few, definitions := len(left) < worthList, isDefinition(r.kind.GVK.GroupKind())
	switch {
	case !slices.Contains(r.kind.Verbs, "list"), few && !definitions:
		r.each(ctx, left)
	case definitions && (few || len(left) <= apart && !r.client.requests.Narrow()):
		var wait sync.WaitGroup
		for name, i := range left {
			wait.Go(func() { r.together(ctx, object.Selection{Name: name}, map[string]int{name: i}) })
		}
		wait.Wait()
	default:
		r.together(ctx, object.Selection{Namespace: namespace}, left)
	}
}

// together reads objects by a list of what sel selects, and one by one if it must not list,
// or if there are far more others. It removes finished ones from left (name → index).
func (r *reading) together(ctx context.Context, sel object.Selection, left map[string]int) {
	whole, err := r.list(ctx, sel, left)
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
	g.SetLimit(transport.MaxConcurrency)
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

const (
	// pageSpare is how many more objects than we need one page may hold.
	pageSpare = 500
	// pageLimit is how many objects a page may hold in any case, because its text is in memory.
	pageLimit = 10_000
	// farMore is how many objects we read past for one that we need, before reading each
	// by itself is less work.
	farMore = 20
)

// list reads what is selected page by page, visits the wanted objects and removes them from
// left. It returns false if the remaining ones are better read one by one. Most sets are
// one page.
func (r *reading) list(ctx context.Context, sel object.Selection, left map[string]int) (whole bool, err error) {
	whole = true
	l := &listwatch.List{
		Kind: r.kind, Size: min(2*len(left)+pageSpare, pageLimit), AnyTime: true,
		Build: func() *rest.Request { return listwatch.Collection(r.client.rest, r.kind, sel) },
		Do: func(ctx context.Context, send func(context.Context) error) error {
			return r.client.requests.Do(ctx, transport.Request{
				Ref:         object.Ref{GVK: r.kind.GVK, Namespace: sel.Namespace},
				About:       r.refsOf(left),
				NewlyServed: r.client.NewlyServed(r.kind.GVK),
				Bulk:        true,
			}, send)
		},
		Item: func(text []byte) error { return r.visitItem(text, sel.Namespace, left) },
		More: func(page metav1.ListMeta) (size int, on bool) {
			if len(left) == 0 {
				return 0, false
			}
			whole = page.RemainingItemCount != nil && *page.RemainingItemCount <= int64(farMore*len(left))
			return pageLimit, whole
		},
	}
	_, err = l.Read(ctx)
	if transport.Unserved(err) {
		return false, r.client.Gone(ctx, r.kind.GVK)
	}
	return whole && err == nil, err
}

// visitItem visits an item if it is wanted. Only the name of any other item is decoded.
func (r *reading) visitItem(text []byte, namespace string, left map[string]int) error {
	name, err := transport.NameOf(text)
	if err != nil {
		return err
	}
	i, wanted := left[name]
	if !wanted {
		return nil
	}
	live, err := transport.Item(text, r.kind, namespace)
	if err != nil {
		return err
	}
	delete(left, name)
	r.see(i, live, nil)
	return nil
}

func (r *reading) refsOf(left map[string]int) []object.Ref {
	refs := make([]object.Ref, 0, len(left))
	for _, i := range left {
		refs = append(refs, r.refs[i])
	}
	slices.SortFunc(refs, object.Ref.Compare)
	return refs
}
