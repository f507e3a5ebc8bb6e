package cluster

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// selectPage is how many objects one page of Select holds at most.
const selectPage = 500

// Select lists the objects of a kind that are meant, page by page, and calls visit
// for each of them, one after the other. fields is a field selector as kubectl
// takes it; empty for all. The objects belong to visit, and only those that it
// keeps are kept. Where a page is too old to go on from, what was visited already
// may be visited again.
func (c *Client) Select(ctx context.Context, gvk schema.GroupVersionKind, which object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	kind, err := c.Kind(ctx, gvk)
	if err != nil {
		return err
	}
	q := request{ref: object.Ref{GVK: kind.GVK, Namespace: which.Namespace}, young: c.kinds.isYoung(kind.GVK), bulk: true}
	err = c.visit(ctx, kind, which, fields, visit, func(ctx context.Context, send func(context.Context) error) error {
		return c.do(ctx, q, send)
	})
	if unserved(statusOf(err)) {
		c.kinds.forget(gvk)
		return c.unlisted(ctx, gvk, nil)
	}
	return err
}

// visit is Select for a kind that is known. do sends a request: once, or until it
// succeeds.
func (c *Client) visit(ctx context.Context, kind object.Kind, which object.Selection, fields string, visit func(*unstructured.Unstructured), do func(context.Context, func(context.Context) error) error) error {
	var items []*unstructured.Unstructured // of one page, so that one which breaks off is not visited twice
	p := &pager{
		kind: kind, size: selectPage, anyTime: true,
		build: func() *rest.Request { return c.selection(kind, which, fields) },
		do: func(ctx context.Context, send func(context.Context) error) error {
			if err := do(ctx, send); err != nil {
				return err
			}
			for _, item := range items {
				visit(item)
			}
			return nil
		},
		turn: func() { items = items[:0] },
		item: func(text []byte) error {
			u, err := decodeItem(text, kind, which.Namespace)
			items = append(items, u)
			return err
		},
	}
	_, err := p.read(ctx)
	return err
}

func (c *Client) selection(kind object.Kind, which object.Selection, more string) *rest.Request {
	path := resourcePath(kind, which.Namespace)
	if which.Namespace == "" {
		path = append(groupPath(kind.GVK.Group, kind.GVK.Version), kind.Resource) // all namespaces
	}
	r := c.rest.Get().AbsPath(path...)
	for param, value := range map[string]string{"labelSelector": which.Labels, "fieldSelector": fieldsOf(which, more)} {
		if value != "" {
			r = r.Param(param, value)
		}
	}
	return r
}

// fieldsOf joins what is selected by fields, and by name, with more of the kind.
func fieldsOf(which object.Selection, more ...string) string {
	var terms []string
	if which.Name != "" {
		terms = append(terms, fields.OneTermEqualSelector("metadata.name", which.Name).String())
	}
	for _, term := range append([]string{which.Fields}, more...) {
		if term != "" {
			terms = append(terms, term)
		}
	}
	return strings.Join(terms, ",")
}

// Read is Get for callers that know no more than what the object is called.
func (c *Client) Read(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	kind, err := c.Kind(ctx, ref.GVK)
	if err != nil {
		return nil, err
	}
	return c.Get(ctx, kind, ref)
}

// Exists tells whether an object is there. The server is asked for metadata alone:
// of a Secret, no value is sent.
func (c *Client) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	kind, err := c.Kind(ctx, ref.GVK)
	if errors.As(err, new(*NoKindError)) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	ask := func() *rest.Request { return c.existence(kind, ref) }
	_, err = c.answered(ctx, kind, request{ref: ref}, ask, func(body []byte) (*unstructured.Unstructured, error) {
		return decodeMetadata(body, kind, ref)
	})
	if apierrors.IsNotFound(err) || errors.As(err, new(*NoKindError)) {
		return false, nil
	}
	return err == nil, err
}

// existence asks for an object's metadata, and nothing else.
func (c *Client) existence(kind object.Kind, ref object.Ref) *rest.Request {
	return c.rest.Get().AbsPath(resourcePath(kind, ref.Namespace, ref.Name)...).
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
}
