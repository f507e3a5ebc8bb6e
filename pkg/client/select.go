package client

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// selectPage is how many objects one page of Select holds at most.
const selectPage = 500

// Select lists the selected objects of a kind, page by page, and calls visit for each of
// them, one after the other. fields is a field selector as kubectl takes it; empty for
// all. visit may keep the objects; those that it does not keep are freed. If a page is
// too old to continue from, objects may be visited twice.
func (c *Client) Select(ctx context.Context, gvk schema.GroupVersionKind, which object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	kind, err := c.Kind(ctx, gvk)
	if err != nil {
		return err
	}
	err = c.each(ctx, query{
		kind: kind, sel: which, fields: fields, visit: visit,
		do: c.sender(object.Ref{GVK: kind.GVK, Namespace: which.Namespace}),
	})
	if transport.Unserved(err) {
		return c.Gone(ctx, gvk)
	}
	return err
}

// Names returns the names of the selected objects, in the server's order; only the
// metadata of the objects is sent.
func (c *Client) Names(ctx context.Context, kind object.Kind, sel object.Selection) ([]string, error) {
	var names []string
	err := c.each(ctx, query{
		kind: kind, sel: sel, metadata: true,
		begin: func() { names = nil },
		visit: func(u *unstructured.Unstructured) { names = append(names, u.GetName()) },
		do:    c.sender(object.Ref{GVK: kind.GVK, Namespace: sel.Namespace, Name: sel.Name}),
	})
	return names, err
}

// sending sends a request once.
type sending = func(context.Context) error

// sender sends requests for many objects of a kind until they succeed.
func (c *Client) sender(about object.Ref) func(context.Context, sending) error {
	r := transport.Request{Ref: about, NewlyServed: c.NewlyServed(about.GVK), Bulk: true}
	return func(ctx context.Context, send sending) error { return c.requests.Do(ctx, r, send) }
}

// query is a list whose objects are visited, page by page.
type query struct {
	kind   object.Kind
	sel    object.Selection
	fields string // in addition to those of the selection
	// metadata: nothing else of the objects is sent.
	metadata bool
	begin    func()
	visit    func(*unstructured.Unstructured)
	// do sends a request: once, or until it succeeds.
	do func(context.Context, sending) error
}

// each visits all objects of a query. Without begin, objects may be visited twice if a
// page is too old to continue from.
func (c *Client) each(ctx context.Context, q query) error {
	var items []*unstructured.Unstructured // of one page, so that a page which breaks off is not visited twice
	l := &listwatch.List{
		Kind: q.kind, Size: selectPage, AnyTime: true,
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
			u, err := transport.Item(text, q.kind, within(q.kind, q.sel))
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

// within is the namespace of all selected objects; empty for any.
func within(kind object.Kind, sel object.Selection) string {
	if !kind.Namespaced {
		return ""
	}
	return sel.Namespace
}

// Read is Get for callers that know only the reference of the object.
func (c *Client) Read(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	kind, err := c.Kind(ctx, ref.GVK)
	if err != nil {
		return nil, err
	}
	return c.Get(ctx, kind, ref)
}

// Exists reports whether an object exists. It asks the server for metadata alone: no
// value of a Secret is sent.
func (c *Client) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	kind, err := c.Kind(ctx, ref.GVK)
	if surelyUnserved(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ask := func() *rest.Request { return c.existence(kind, ref) }
	_, err = c.object(ctx, kind, transport.Request{Ref: ref}, ask)
	if apierrors.IsNotFound(err) || surelyUnserved(err) {
		return false, nil
	}
	return err == nil, err
}

// surelyUnserved reports whether an error says, without a doubt, that a kind is not served.
func surelyUnserved(err error) bool {
	missing, ok := errors.AsType[*NoKindError](err)
	return ok && missing.Err == nil
}

// existence asks for an object's metadata, and nothing else.
func (c *Client) existence(kind object.Kind, ref object.Ref) *rest.Request {
	return c.rest.Get().AbsPath(transport.ResourcePath(kind, ref.Namespace, ref.Name)...).
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
}

// Metadata lists the selected objects and calls visit for the metadata of each object;
// the server sends nothing else. If a page is too old to continue from, objects may be
// visited twice.
func (c *Client) Metadata(ctx context.Context, kind object.Kind, sel object.Selection, visit func(*unstructured.Unstructured)) error {
	return c.each(ctx, query{
		kind: kind, sel: sel, metadata: true, visit: visit,
		do: c.sender(object.Ref{GVK: kind.GVK, Namespace: sel.Namespace, Name: sel.Name}),
	})
}

// Watch is [listwatch.Source.Watch], with an error that is a *NoKindError where the
// server does not serve the kind (any more).
func (c *Client) Watch(ctx context.Context, kind object.Kind, sel object.Selection, tell func(object.Change)) error {
	err := c.lists.Watch(ctx, kind, sel, tell)
	if ctx.Err() == nil && transport.Unserved(err) {
		return c.Gone(ctx, kind.GVK)
	}
	return err
}
