package client

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Live reads objects of one kind and calls visit for each, in any order and never concurrently.
// visit gets nil for a missing object, and an error for an object that could not be read. visit may
// keep the object. refs must not contain duplicates.
//
// Objects in many namespaces are read with one list across all namespaces, and many objects of a
// namespace with one list. They are read one by one if we cannot list them, or if the list would
// contain far more objects.
func (c *Client) Live(ctx context.Context, kind object.Kind, refs []object.Ref, visit func(i int, live *unstructured.Unstructured, err error)) {
	r := reading{client: c, kind: kind, refs: refs, visit: visit}
	left := wanted{}
	for i, ref := range refs {
		if left[ref.Namespace] == nil {
			left[ref.Namespace] = map[string]int{}
		}
		left[ref.Namespace][ref.Name] = i
	}
	r.across(ctx, left)
	var wait sync.WaitGroup
	for namespace, names := range left {
		wait.Go(func() { r.namespace(ctx, namespace, names) })
	}
	wait.Wait()
}

type reading struct {
	client *Client
	kind   object.Kind
	refs   []object.Ref

	mu    sync.Mutex // serializes visit
	visit func(i int, live *unstructured.Unstructured, err error)
}

func (r *reading) onRead(i int, live *unstructured.Unstructured, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.visit(i, live, err)
}

// across reads one list across all namespaces if that is less work than reading by namespace, and
// removes the objects that it finds. If the list is complete or fails, it removes all objects.
func (r *reading) across(ctx context.Context, left wanted) {
	requests := left.requests()
	first := nextPage(left, listed{}, metav1.ListMeta{})
	if first == 0 || !slices.Contains(r.kind.Verbs, "list") || r.client.across.isWorse(r.kind.GVK, requests) {
		return
	}
	whole, err := r.list(ctx, object.Selection{}, left, first, func(read listed, page metav1.ListMeta) (int, bool) {
		size := nextPage(left, read, page)
		return size, size > 0
	})
	switch {
	case transport.Denied(err):
		r.client.across.add(r.kind.GVK, math.MaxInt)
	case err == nil && !whole:
		r.client.across.add(r.kind.GVK, requests)
	case listwatch.TooOld(err): // Smaller lists may still succeed.
	default:
		r.missing(left, err)
		clear(left)
	}
}

// namespace reads the objects of one namespace. The map (left) contains the names of the objects
// that have not been read yet, with their indexes in refs.
func (r *reading) namespace(ctx context.Context, namespace string, left map[string]int) {
	few, definitions := len(left) < worthList, isDefinition(r.kind.GVK.GroupKind())
	switch {
	case !slices.Contains(r.kind.Verbs, "list"), few && !definitions:
		r.readOneByOne(ctx, wanted{namespace: left})
	case definitions && (few || len(left) <= apart && !r.client.requests.Narrow()):
		var wait sync.WaitGroup
		for name, i := range left {
			wait.Go(func() { r.together(ctx, object.Selection{Name: name}, wanted{"": {name: i}}) })
		}
		wait.Wait()
	default:
		r.together(ctx, object.Selection{Namespace: namespace}, wanted{namespace: left})
	}
}

const pageSpare = 500

// together reads one list, and removes the objects that it finds. If we have no permission to list,
// if the kind cannot be listed, or if the list contains far more objects than are wanted, together
// reads the remaining objects one by one.
func (r *reading) together(ctx context.Context, sel object.Selection, left wanted) {
	whole, err := r.list(ctx, sel, left, min(2*left.count()+pageSpare, pageLimit), func(_ listed, page metav1.ListMeta) (int, bool) {
		return pageLimit, page.RemainingItemCount != nil && *page.RemainingItemCount <= int64(farMore*left.count())
	})
	if transport.Denied(err) || err == nil && !whole {
		r.readOneByOne(ctx, left)
		return
	}
	r.missing(left, err)
}

func (r *reading) missing(left wanted, err error) {
	for _, names := range left {
		for _, i := range names {
			r.onRead(i, nil, err)
		}
	}
}

func (r *reading) readOneByOne(ctx context.Context, left wanted) {
	var g errgroup.Group
	g.SetLimit(transport.MaxConcurrency)
	for _, names := range left {
		for _, i := range names {
			g.Go(func() error {
				live, err := r.client.Get(ctx, r.kind, r.refs[i])
				if apierrors.IsNotFound(err) {
					live, err = nil, nil
				}
				r.onRead(i, live, err)
				return nil
			})
		}
	}
	_ = g.Wait()
}

// list visits the wanted objects and removes them. After each page, the callback (more) decides
// about the next one. If list returns neither true nor an error, the remaining objects should be
// read in another way.
func (r *reading) list(
	ctx context.Context, sel object.Selection, left wanted, size int, more func(read listed, page metav1.ListMeta) (size int, on bool),
) (whole bool, err error) {
	whole = true
	var read, page listed
	l := &listwatch.List{
		Kind: r.kind, Size: size, AnyTime: true,
		Build: func() *rest.Request { return listwatch.Collection(r.client.rest, r.kind, sel) },
		Do: func(ctx context.Context, send func(context.Context) error) error {
			return r.client.requests.Do(ctx, transport.Request{
				Ref:         object.Ref{GVK: r.kind.GVK, Namespace: sel.Namespace},
				About:       r.refsOf(left),
				NewlyServed: r.client.NewlyServed(r.kind.GVK),
				Bulk:        true,
			}, send)
		},
		Turn: func() { page = listed{} },
		Item: func(text []byte) error {
			page.objects++
			page.bytes += len(text)
			return r.visitItem(text, left)
		},
		More: func(meta metav1.ListMeta) (size int, on bool) {
			if left.count() == 0 {
				return 0, false
			}
			read.objects, read.bytes = read.objects+page.objects, read.bytes+page.bytes
			size, whole = more(read, meta)
			return size, whole
		},
	}
	_, err = l.Read(ctx)
	if transport.Unserved(err) {
		return false, r.client.Gone(ctx, r.kind.GVK)
	}
	return whole && err == nil, err
}

func (r *reading) visitItem(text []byte, left wanted) error {
	key, err := transport.KeyOf(text)
	if err != nil {
		return err
	}
	i, wanted := left[key.Namespace][key.Name]
	if !wanted {
		return nil
	}
	live, err := transport.Item(text, r.kind)
	if err != nil {
		return err
	}
	delete(left[key.Namespace], key.Name)
	r.onRead(i, live, nil)
	return nil
}

func (r *reading) refsOf(left wanted) []object.Ref {
	refs := make([]object.Ref, 0, left.count())
	for _, names := range left {
		for _, i := range names {
			refs = append(refs, r.refs[i])
		}
	}
	slices.SortFunc(refs, object.Ref.Compare)
	return refs
}

const selectPage = 500

// Select lists objects page by page and calls visit for each. visit may keep the object. fields is
// a field selector in kubectl's notation. If the list expires between two pages, Select may visit
// objects twice.
func (c *Client) Select(ctx context.Context, gvk schema.GroupVersionKind, which object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	kind, err := c.Kind(ctx, gvk)
	if err != nil {
		return err
	}
	err = c.visit(ctx, query{
		kind: kind, sel: which, fields: fields, visit: visit,
		do: c.sender(object.Ref{GVK: kind.GVK, Namespace: which.Namespace}),
	})
	if transport.Unserved(err) {
		return c.Gone(ctx, gvk)
	}
	return err
}

// Names returns the names of the selected objects in the server's order. The server sends only
// metadata.
func (c *Client) Names(ctx context.Context, kind object.Kind, sel object.Selection) ([]string, error) {
	var names []string
	err := c.visit(ctx, query{
		kind: kind, sel: sel, metadata: true,
		begin: func() { names = nil },
		visit: func(u *unstructured.Unstructured) { names = append(names, u.GetName()) },
		do:    c.sender(object.Ref{GVK: kind.GVK, Namespace: sel.Namespace, Name: sel.Name}),
	})
	return names, err
}

type sending = func(context.Context) error

func (c *Client) sender(about object.Ref) func(context.Context, sending) error {
	r := transport.Request{Ref: about, NewlyServed: c.NewlyServed(about.GVK), Bulk: true}
	return func(ctx context.Context, send sending) error { return c.requests.Do(ctx, r, send) }
}

type query struct {
	kind     object.Kind
	sel      object.Selection
	fields   string
	metadata bool
	size     int
	begin    func()
	visit    func(*unstructured.Unstructured)
	do       func(context.Context, sending) error
}

// visit visits all selected objects, page by page. If the list expires between two pages, it may
// have to start over, and q.begin is called again. If q.begin is nil, objects may be visited twice.
func (c *Client) visit(ctx context.Context, q query) error {
	var items []*unstructured.Unstructured
	l := &listwatch.List{
		Kind: q.kind, Size: cmp.Or(q.size, selectPage), AnyTime: true,
		Build: func() *rest.Request { return listwatch.Collection(c.rest, q.kind, q.sel, q.fields) },
		Do: func(ctx context.Context, send func(context.Context) error) error {
			if err := q.do(ctx, send); err != nil {
				return err
			}
			for _, item := range items {
				q.visit(item)
			}
			return nil
		},
		Begin: q.begin,
		Turn:  func() { items = items[:0] },
		Item: func(text []byte) error {
			u, err := transport.Item(text, q.kind)
			items = append(items, u)
			return err
		},
	}
	if q.metadata {
		all := l.Build
		l.Size, l.Build = listwatch.UsualPage, func() *rest.Request { return listwatch.MetadataOnly(all()) }
	}
	_, err := l.Read(ctx)
	return err
}

// Read reads one object, after finding its kind.
func (c *Client) Read(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	kind, err := c.Kind(ctx, ref.GVK)
	if err != nil {
		return nil, err
	}
	return c.Get(ctx, kind, ref)
}

// Exists reports whether an object exists. It requests only metadata, so the server does not send
// the values of a Secret.
func (c *Client) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	kind, err := c.Kind(ctx, ref.GVK)
	if surelyUnserved(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = c.object(ctx, kind, transport.Request{Ref: ref}, func() *rest.Request { return c.existence(kind, ref) })
	if apierrors.IsNotFound(err) || surelyUnserved(err) {
		return false, nil
	}
	return err == nil, err
}

func surelyUnserved(err error) bool {
	missing, ok := errors.AsType[*NoKindError](err)
	return ok && missing.Err == nil
}

func (c *Client) existence(kind object.Kind, ref object.Ref) *rest.Request {
	return c.rest.Get().AbsPath(transport.ResourcePath(kind, ref.Namespace, ref.Name)...).
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
}

// Metadata lists the metadata of the selected objects. If the list expires between two pages,
// Metadata may visit objects twice.
func (c *Client) Metadata(ctx context.Context, kind object.Kind, sel object.Selection, visit func(*unstructured.Unstructured)) error {
	return c.visit(ctx, query{
		kind: kind, sel: sel, metadata: true, visit: visit,
		do: c.sender(object.Ref{GVK: kind.GVK, Namespace: sel.Namespace, Name: sel.Name}),
	})
}

// Watch calls [listwatch.Source.Watch]. The error is a *NoKindError if the server no longer serves
// the kind.
func (c *Client) Watch(ctx context.Context, kind object.Kind, sel object.Selection, report func(object.Change)) error {
	err := c.lists.Watch(ctx, kind, sel, report)
	if ctx.Err() == nil && transport.Unserved(err) {
		return c.Gone(ctx, kind.GVK)
	}
	return err
}

// Follow calls [listwatch.Source.Follow]. The error is a *NoKindError if the server no longer
// serves the kind.
func (c *Client) Follow(ctx context.Context, changes listwatch.Changes) error {
	err := c.lists.Follow(ctx, changes)
	if ctx.Err() == nil && transport.Unserved(err) {
		return c.Gone(ctx, changes.Kind.GVK)
	}
	return err
}
