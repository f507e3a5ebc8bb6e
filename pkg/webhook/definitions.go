package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// Definitions receives the CRDs of the cluster, one call at a time.
type Definitions interface {
	// Set reports a CRD in its current version, reduced to the name, spec.group,
	// status.acceptedNames.kind and, of each of spec.versions, name, served, deprecated and
	// deprecationWarning.
	Set(definition *unstructured.Unstructured)
	// Delete reports that the CRD of that name is gone.
	Delete(name string)
}

// definitions watches CRDs. It does not keep their schemas, which are most of their size.
type definitions struct {
	cache cache.Cache
	to    Definitions
}

func (d definitions) run(ctx context.Context) error {
	informer, err := d.cache.GetInformer(ctx, definition(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch CRDs: %w", err)
	}
	set := func(object any) {
		if u, ok := object.(*unstructured.Unstructured); ok {
			d.to.Set(u)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, now any) { set(now) },
		DeleteFunc: func(object any) {
			if name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				d.to.Delete(name)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch CRDs: %w", err)
	}
	<-ctx.Done()
	return nil
}

func definition() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	return u
}

// keepVersions reduces a CRD to what Definitions needs.
func keepVersions(object any) (any, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	group, _, _ := unstructured.NestedString(u.Object, "spec", "group")
	accepted, _, _ := unstructured.NestedString(u.Object, "status", "acceptedNames", "kind")
	field, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "versions")
	all, _ := field.([]any)
	versions := make([]any, 0, len(all))
	for _, v := range all {
		kept := map[string]any{}
		from, _ := v.(map[string]any)
		for _, field := range []string{"name", "served", "deprecated", "deprecationWarning"} {
			if value, ok := from[field]; ok {
				kept[field] = value
			}
		}
		versions = append(versions, kept)
	}
	small := definition()
	small.SetName(u.GetName())
	small.SetUID(u.GetUID())
	small.SetResourceVersion(u.GetResourceVersion())
	small.Object["spec"] = map[string]any{"group": group, "versions": versions}
	small.Object["status"] = map[string]any{"acceptedNames": map[string]any{"kind": accepted}}
	return small, nil
}
