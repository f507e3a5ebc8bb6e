package client

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// SetManagedFields replaces the managed fields of the object, if it still is the
// version that was read; if not, the error is a conflict.
func (c *Client) SetManagedFields(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any) (*unstructured.Unstructured, error) {
	return c.PutManagedFields(ctx, kind, live, fields, object.Write{})
}

// PutManagedFields is SetManagedFields as a manager, or as a dry run. It is sent by way of a
// version of the kind at which the server changes nothing else, if there is one: what the server
// changes becomes the manager's, which without a name is this program's. The answer is at the
// version of the kind all the same. Where the object would be too large with them, the error is a
// *[TooLargeError].
func (c *Client) PutManagedFields(
	ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any, how object.Write,
) (*unstructured.Unstructured, error) {
	at, err := c.uncredited(ctx, kind, live, fields, how)
	if err != nil {
		return nil, err
	}
	answer, err := c.sendManagedFields(ctx, at, live, fields, how)
	if err == nil && keptNone(answer, fields) {
		return nil, c.putBack(ctx, at, live, answer, how)
	}
	if err != nil || at.GVK == kind.GVK {
		return answer, err
	}
	out := live.DeepCopy()
	out.SetResourceVersion(answer.GetResourceVersion())
	out.SetManagedFields(answer.GetManagedFields())
	return out, nil
}

func (c *Client) sendManagedFields(
	ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any, how object.Write,
) (*unstructured.Unstructured, error) {
	body, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": fields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return nil, fmt.Errorf("managed fields of %s: %w", object.RefOf(live), err)
	}
	q := transport.Request{Ref: object.RefOf(live), Guarded: true}
	return c.object(ctx, kind, q, func() *rest.Request {
		r := c.rest.Patch(types.JSONPatchType).AbsPath(transport.ResourcePath(kind, live.GetNamespace(), live.GetName())...).Body(body)
		if how.Manager != "" {
			r = r.Param("fieldManager", how.Manager)
		}
		if how.DryRun {
			r = r.Param("dryRun", metav1.DryRunAll)
		}
		return r
	})
}

// uncredited returns the kind at the version by which managed fields are best written: the
// requested one, unless the server would change the object itself there and credit the sender
// with it. That is what happens to a default of one version that storage drops, because the
// stored version does not have it: each write sets it anew. The stored version changes nothing,
// and the server does not say which one that is, so dry runs have to show it.
func (c *Client) uncredited(ctx context.Context, kind object.Kind, live *unstructured.Unstructured, fields []any, how object.Write) (object.Kind, error) {
	if kind.GVK.Group == "" { // It has a single version.
		return kind, nil
	}
	others, err := c.Elsewhere(ctx, kind.GVK)
	if err != nil || len(others) == 0 {
		return kind, ctx.Err() // The write itself tells what is wrong.
	}
	how.DryRun = true
	at := kind
	for _, gv := range append([]schema.GroupVersion{kind.GVK.GroupVersion()}, others...) {
		if gv.Group != kind.GVK.Group {
			continue
		}
		at.GVK.Version = gv.Version
		answer, err := c.sendManagedFields(ctx, at, live, fields, how)
		if err != nil && gv == kind.GVK.GroupVersion() {
			break
		}
		if err == nil && !credited(answer, fields) {
			return at, nil
		}
	}
	return kind, ctx.Err()
}

// credited reports whether an updater owns more of an object than was sent.
func credited(answer *unstructured.Unstructured, sent []any) bool {
	type owner struct{ manager, operation, apiVersion, subresource any }
	known := map[owner]any{}
	ownerOf := func(entry map[string]any) owner {
		return owner{entry["manager"], entry["operation"], entry["apiVersion"], entry["subresource"]}
	}
	for _, entry := range sent {
		if entry, ok := entry.(map[string]any); ok {
			known[ownerOf(entry)] = entry["fieldsV1"]
		}
	}
	now, _, _ := unstructured.NestedSlice(answer.Object, "metadata", "managedFields")
	for _, entry := range now {
		entry, ok := entry.(map[string]any)
		if ok && entry["operation"] == string(metav1.ManagedFieldsOperationUpdate) && exceeds(entry["fieldsV1"], known[ownerOf(entry)]) {
			return true
		}
	}
	return false
}

// exceeds reports whether fields have a path that others do not.
func exceeds(fields, others any) bool {
	has, _ := fields.(map[string]any)
	known, is := others.(map[string]any)
	if !is {
		return true
	}
	for name, below := range has {
		if at, is := known[name]; !is || exceeds(below, at) {
			return true
		}
	}
	return false
}
