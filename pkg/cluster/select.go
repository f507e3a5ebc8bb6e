package cluster

import (
	"context"
	"errors"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	next := ""
	for {
		page, err := c.selected(ctx, kind, which, fields, next, visit)
		switch {
		case apierrors.IsResourceExpired(err) && next != "":
			next = ""
			continue
		case unserved(statusOf(err)):
			c.kinds.forget(gvk)
			return &NoKindError{GVK: gvk}
		case err != nil:
			return err
		case page.Continue == "":
			return nil
		}
		next = page.Continue
	}
}

// selected reads one page. Its objects are visited when all of it is read, so that
// a page which breaks off is not visited twice.
func (c *Client) selected(ctx context.Context, kind object.Kind, which object.Selection, fields, next string, visit func(*unstructured.Unstructured)) (metav1.ListMeta, error) {
	var page metav1.ListMeta
	var items []*unstructured.Unstructured
	q := request{ref: object.Ref{GVK: kind.GVK, Namespace: which.Namespace}, young: c.kinds.isYoung(kind.GVK), bulk: true}
	err := c.do(ctx, q, func(ctx context.Context) error {
		items = items[:0]
		body, err := c.selection(kind, which, fields, next).Stream(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }() // It was read, or it failed before.
		page, err = readList(body, func(item []byte) error {
			var u unstructured.Unstructured
			if err := unmarshal(item, &u.Object); err != nil {
				return err
			}
			u.SetGroupVersionKind(kind.GVK) // which items of a list do not say
			items = append(items, &u)
			return nil
		})
		if err == nil {
			_, err = io.Copy(io.Discard, body) // So that HTTP/1.1 keeps the connection.
		}
		return err
	})
	if err != nil {
		return page, err
	}
	for _, item := range items {
		visit(item)
	}
	return page, nil
}

func (c *Client) selection(kind object.Kind, which object.Selection, fields, next string) *rest.Request {
	path := resourcePath(kind, which.Namespace)
	if which.Namespace == "" {
		path = append(groupPath(kind.GVK.Group, kind.GVK.Version), kind.Resource) // all namespaces
	}
	if which.Name != "" {
		name := "metadata.name=" + which.Name
		if fields != "" {
			name += "," + fields
		}
		fields = name
	}
	r := c.rest.Get().AbsPath(path...).Param("limit", strconv.Itoa(selectPage))
	for param, value := range map[string]string{"labelSelector": which.Labels, "fieldSelector": fields, "continue": next} {
		if value != "" {
			r = r.Param(param, value)
		}
	}
	return r
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
	_, err = c.object(ctx, kind, request{ref: ref}, func() *rest.Request {
		return c.rest.Get().AbsPath(resourcePath(kind, ref.Namespace, ref.Name)...).
			SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	})
	if apierrors.IsNotFound(err) || errors.As(err, new(*NoKindError)) {
		return false, nil
	}
	return err == nil, err
}
