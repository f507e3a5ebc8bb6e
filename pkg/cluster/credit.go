package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// uncredited returns the kind at the version by which managed fields are best written: the
// requested one, unless the server would change the object itself there and credit the sender
// with it. That is what happens to a default of one version that storage drops, because the
// stored version does not have it: each write sets it anew. The stored version changes nothing,
// and no client is told which one that is, so dry runs have to show it.
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

// credited reports whether an object has owners that were not sent.
func credited(answer *unstructured.Unstructured, sent []any) bool {
	type owner struct{ manager, operation, apiVersion, subresource any }
	known := map[owner]bool{}
	ownerOf := func(entry map[string]any) owner {
		return owner{entry["manager"], entry["operation"], entry["apiVersion"], entry["subresource"]}
	}
	for _, entry := range sent {
		if entry, ok := entry.(map[string]any); ok {
			known[ownerOf(entry)] = true
		}
	}
	now, _, _ := unstructured.NestedSlice(answer.Object, "metadata", "managedFields")
	for _, entry := range now {
		if entry, ok := entry.(map[string]any); ok && !known[ownerOf(entry)] && entry["operation"] == string(metav1.ManagedFieldsOperationUpdate) {
			return true
		}
	}
	return false
}
