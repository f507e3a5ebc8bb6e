package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Apply applies the object by server-side apply and returns it as the server
// has it then, or would have it after a dry run.
func (c *Client) Apply(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.RefOf(obj), err)
	}
	q := request{ref: object.RefOf(obj), guarded: obj.GetResourceVersion() != ""}
	return c.object(ctx, kind, q, func() *rest.Request {
		r := c.rest.Patch(types.ApplyPatchType).AbsPath(resourcePath(kind, obj.GetNamespace(), obj.GetName())...).Body(body)
		if how.Force {
			r = r.Param("force", "true")
		}
		return withOptions(r, how)
	})
}

// Update replaces the object.
func (c *Client) Update(ctx context.Context, kind object.Kind, obj *unstructured.Unstructured, how object.Write) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.RefOf(obj), err)
	}
	q := request{ref: object.RefOf(obj), guarded: obj.GetResourceVersion() != ""}
	return c.object(ctx, kind, q, func() *rest.Request {
		r := c.rest.Put().AbsPath(resourcePath(kind, obj.GetNamespace(), obj.GetName())...).Body(body)
		return withOptions(r, how)
	})
}

// SetManagedFields replaces the managed fields of the object, if it still is the
// version that was read; if not, the error is a conflict.
func (c *Client) SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error) {
	body, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": fields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", object.RefOf(live), err)
	}
	q := request{ref: object.RefOf(live), guarded: true}
	return c.object(ctx, kind, q, func() *rest.Request {
		return c.rest.Patch(types.JSONPatchType).AbsPath(resourcePath(kind, live.GetNamespace(), live.GetName())...).Body(body)
	})
}

// Get reads one object.
func (c *Client) Get(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error) {
	return c.object(ctx, kind, request{ref: ref}, func() *rest.Request {
		return c.rest.Get().AbsPath(resourcePath(kind, ref.Namespace, ref.Name)...)
	})
}

// withOptions adds what all writes have in common.
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

// object sends a request that is answered by one object. build makes it anew for
// each try. A kind that turns out not to be served any more is a *NoKindError.
func (c *Client) object(ctx context.Context, kind object.Kind, q request, build func() *rest.Request) (*unstructured.Unstructured, error) {
	return c.answered(ctx, kind, q, build, func(body []byte) (*unstructured.Unstructured, error) {
		return decode(body, kind, q.ref)
	})
}

// answered is object for a request that decode understands the answer of.
func (c *Client) answered(
	ctx context.Context, kind object.Kind, q request, build func() *rest.Request, decode func([]byte) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	q.young = c.kinds.isYoung(kind.GVK)
	var out *unstructured.Unstructured
	err := c.do(ctx, q, func(ctx context.Context) error {
		body, err := read(ctx, build())
		if err != nil {
			return err
		}
		out, err = decode(body)
		return err
	})
	if err != nil {
		out = nil
	}
	if err != nil && unserved(statusOf(err)) {
		return nil, c.absent(ctx, kind, err)
	}
	return out, err
}

// absent tells a kind that is not served from an object that does not exist, of
// which an aggregated API may say no more than that: its 404 names nothing.
func (c *Client) absent(ctx context.Context, kind object.Kind, err error) error {
	if c.kinds.isTerse(kind.GVK) {
		return err
	}
	l, asked := c.listed(ctx, kind.GVK.GroupVersion())
	if asked != nil {
		return asked
	}
	if _, missing := find(&l.kinds, kind.GVK); missing == nil {
		c.kinds.setTerse(kind.GVK)
		return err
	}
	c.kinds.forget(kind.GVK)
	return c.unlisted(ctx, kind.GVK, &l)
}

// read sends a request and reads the whole answer. Unlike DoRaw, Stream decodes
// the server's errors and hands on its warnings.
func read(ctx context.Context, r *rest.Request) ([]byte, error) {
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // It was read, or it failed before.
	return io.ReadAll(body)
}

// unmarshal decodes whole numbers as int64, as everything in apimachinery
// expects them.
func unmarshal(body []byte, into any) error {
	return kjson.UnmarshalCaseSensitivePreserveInts(body, into)
}

// Permitted asks whether we may do what verb says with the object. It tells a
// lack of permission from all else that is answered as forbidden: a quota, an
// admission plugin, a namespace that goes.
func (c *Client) Permitted(ctx context.Context, kind object.Kind, ref object.Ref, verb string) (bool, error) {
	review := authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: kind.GVK.Group, Version: kind.GVK.Version, Resource: kind.Resource,
			Namespace: ref.Namespace, Name: ref.Name, Verb: verb,
		}},
	}
	body, err := json.Marshal(review)
	if err != nil {
		return false, err
	}
	allowed := false
	err = c.do(ctx, request{ref: ref}, func(ctx context.Context) error {
		answer, err := read(ctx, c.rest.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").Body(body))
		if err != nil {
			return err
		}
		allowed, err = reviewed(answer, review.Kind)
		return err
	})
	return allowed, err
}
