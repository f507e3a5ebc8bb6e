package client

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// noVersion is a resource version that no object has: it is the revision of a store with
// nothing in it. An apply that names it is a conflict with any object that is there. One
// that creates does not look at it.
const noVersion = "1"

// Apply applies the object by server-side apply and returns it as the server
// has it then, or would have it after a dry run.
func (c *Client) Apply(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	if how.Create {
		obj = object.AtVersion(obj, noVersion)
	}
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.RefOf(obj), err)
	}
	q := transport.Request{Ref: object.RefOf(obj), Guarded: obj.GetResourceVersion() != "", Creates: how.Create}
	return c.object(ctx, kind, q, func() *rest.Request {
		r := c.rest.Patch(types.ApplyPatchType).AbsPath(transport.ResourcePath(kind, obj.GetNamespace(), obj.GetName())...).Body(body)
		if how.Force {
			r = r.Param("force", "true")
		}
		return withOptions(r, how)
	})
}

// Create creates the object, and returns a conflict (already exists) if there is one of
// that name.
func (c *Client) Create(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.RefOf(obj), err)
	}
	q := transport.Request{Ref: object.RefOf(obj), Guarded: true}
	return c.object(ctx, kind, q, func() *rest.Request {
		r := c.rest.Post().AbsPath(transport.ResourcePath(kind, obj.GetNamespace())...).Body(body)
		return withOptions(r, how)
	})
}

// Merge changes those fields of the object that the patch has. A patch with a resource
// version is a conflict unless the object is at that version.
func (c *Client) Merge(ctx context.Context, kind object.Kind, patch *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(patch.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.RefOf(patch), err)
	}
	q := transport.Request{Ref: object.RefOf(patch), Guarded: patch.GetResourceVersion() != ""}
	return c.object(ctx, kind, q, func() *rest.Request {
		r := c.rest.Patch(types.MergePatchType).AbsPath(transport.ResourcePath(kind, patch.GetNamespace(), patch.GetName())...).Body(body)
		return withOptions(r, how)
	})
}

// Update replaces the object.
func (c *Client) Update(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.RefOf(obj), err)
	}
	q := transport.Request{Ref: object.RefOf(obj), Guarded: obj.GetResourceVersion() != ""}
	return c.object(ctx, kind, q, func() *rest.Request {
		r := c.rest.Put().AbsPath(transport.ResourcePath(kind, obj.GetNamespace(), obj.GetName())...).Body(body)
		return withOptions(r, how)
	})
}

// Get reads one object.
func (c *Client) Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	return c.object(ctx, kind, transport.Request{Ref: ref}, func() *rest.Request {
		return c.rest.Get().AbsPath(transport.ResourcePath(kind, ref.Namespace, ref.Name)...)
	})
}

// withOptions adds the options that all writes share.
func withOptions(r *rest.Request, how object.Write) *rest.Request {
	r = r.Param("fieldManager", how.Manager)
	validation := how.Validation
	if validation == "" {
		validation = metav1.FieldValidationStrict
	}
	r = r.Param("fieldValidation", validation)
	if how.DryRun {
		r = r.Param("dryRun", metav1.DryRunAll)
	}
	return r
}

// object sends a request whose answer is one object. build builds it anew for each try. A
// kind that turns out to be no longer served is a *NoKindError.
func (c *Client) object(ctx context.Context, kind object.Kind, q transport.Request, build func() *rest.Request) (*unstructured.Unstructured, error) {
	return c.answered(ctx, kind, q, build, func(body []byte) (*unstructured.Unstructured, error) {
		return transport.Object(body, kind, q.Ref)
	})
}

// answered is object for a request that decode understands the answer of.
func (c *Client) answered(
	ctx context.Context, kind object.Kind, q transport.Request, build func() *rest.Request, decode func([]byte) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	q.NewlyServed = c.NewlyServed(kind.GVK)
	var out *unstructured.Unstructured
	err := c.requests.Do(ctx, q, func(ctx context.Context) error {
		body, err := transport.Read(ctx, build())
		if err != nil {
			return err
		}
		out, err = decode(body)
		return err
	})
	if err != nil {
		out = nil
	}
	if err != nil && transport.Unserved(err) {
		return nil, c.Absent(ctx, kind, err)
	}
	return out, err
}
