package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Delete deletes the object and returns its state afterwards; nil if the object is gone. For some
// kinds, the server returns the object even if it is already gone, so a result that is not nil does
// not prove that the object still exists.
//
// The error is NotFound if there is no such object. It is a conflict if how.UID or
// how.ResourceVersion does not match.
func (c *Client) Delete(ctx context.Context, kind object.Kind, ref object.Ref, how object.Deletion) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(optionsOf(how))
	if err != nil {
		return nil, fmt.Errorf("delete %s: %w", ref, err)
	}
	if isDefinition(kind.GVK.GroupKind()) && !how.DryRun {
		c.openStorage(ctx, kind, ref)
	}
	q := transport.Request{Ref: ref, Guarded: how.UID != ""}
	doubtful := false
	send := func() *rest.Request {
		r := c.rest.Delete().AbsPath(transport.ResourcePath(kind, ref.Namespace, ref.Name)...).Body(body)
		if how.DryRun { // The server reads the dry run from the body; the parameter makes it visible in audit logs.
			r = r.Param("dryRun", metav1.DryRunAll)
		}
		return r
	}
	left, err := c.answered(ctx, kind, q, send, func(body []byte) (left *unstructured.Unstructured, err error) {
		left, doubtful, err = deleted(body, kind, ref, how)
		return left, err
	})
	if err != nil || !doubtful {
		return left, err
	}
	left, err = c.Get(ctx, kind, ref)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return left, err
}

// deleted decodes the response to a deletion. A response of type Status means that the object is
// gone. doubtful is set if the Status does not name the object, because a proxy may answer any
// request with such a Status.
func deleted(body []byte, kind object.Kind, ref object.Ref, how object.Deletion) (left *unstructured.Unstructured, doubtful bool, err error) {
	u, err := transport.Any(body)
	if err != nil {
		return nil, false, err
	}
	if u.GroupVersionKind() != (schema.GroupVersionKind{Version: "v1", Kind: "Status"}) {
		left, err = transport.Object(body, kind)
		if err == nil && how.UID != "" && left.GetUID() != how.UID {
			err = transport.Wrong("it is the %s %s with the UID %s, not %s", kind.GVK.Kind, ref.Name, left.GetUID(), how.UID)
		}
		return left, false, err
	}
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil {
		return nil, false, transport.Garbled(body)
	}
	if status.Status != metav1.StatusSuccess {
		return nil, false, transport.Wrong("it is %s", transport.Describe(u))
	}
	return nil, status.Details == nil || status.Details.Name != ref.Name, nil
}

func optionsOf(how object.Deletion) metav1.DeleteOptions {
	o := metav1.DeleteOptions{
		TypeMeta:           metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		GracePeriodSeconds: how.GracePeriod,
	}
	if how.UID != "" {
		o.Preconditions = &metav1.Preconditions{UID: &how.UID}
	}
	if how.ResourceVersion != "" {
		if o.Preconditions == nil {
			o.Preconditions = &metav1.Preconditions{}
		}
		o.Preconditions.ResourceVersion = &how.ResourceVersion
	}
	if how.Propagation != "" {
		o.PropagationPolicy = &how.Propagation
	}
	if how.DryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	return o
}

// RemoveFinalizer removes one finalizer, if the object has it. The error is a conflict if the
// object has changed since it was read.
func (c *Client) RemoveFinalizer(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, finalizer string) (*unstructured.Unstructured, error) {
	q := transport.Request{Ref: object.RefOf(live), Guarded: true}
	switch {
	case slices.Contains(live.GetFinalizers(), finalizer):
	case slices.Contains(object.Finalizers(live), finalizer):
		return c.object(ctx, kind, q, func() *rest.Request { return c.finalization(kind, live, finalizer) })
	default:
		return live, nil
	}
	return c.object(ctx, kind, q, func() *rest.Request { return c.removal(kind, live, finalizer) })
}

// finalization builds the request that removes a finalizer from the spec of a namespace, which no
// patch can do.
func (c *Client) finalization(kind object.Kind, live *unstructured.Unstructured, finalizer string) *rest.Request {
	sent := live.DeepCopy()
	all, _, _ := unstructured.NestedStringSlice(sent.Object, "spec", "finalizers")
	left := slices.DeleteFunc(all, func(f string) bool { return f == finalizer })
	_ = unstructured.SetNestedStringSlice(sent.Object, left, "spec", "finalizers")
	body, _ := sent.MarshalJSON()
	return c.rest.Put().AbsPath(append(transport.ResourcePath(kind, "", live.GetName()), "finalize")...).Body(body)
}

// removal builds a patch that replaces the whole list, which is safe because the patch names the
// version that was read. In a JSON patch, "add" replaces an existing value.
func (c *Client) removal(kind object.Kind, live *unstructured.Unstructured, finalizer string) *rest.Request {
	left := slices.DeleteFunc(live.GetFinalizers(), func(f string) bool { return f == finalizer })
	patch := []map[string]any{
		{"op": "add", "path": "/metadata/finalizers", "value": left},
		{"op": "replace", "path": "/metadata/uid", "value": live.GetUID()},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	}
	body, _ := json.Marshal(patch)
	return c.rest.Patch(types.JSONPatchType).AbsPath(transport.ResourcePath(kind, live.GetNamespace(), live.GetName())...).Body(body)
}
