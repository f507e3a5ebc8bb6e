package helmrelease

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// MetadataReader reads the metadata of objects, without the manifests of releases.
type MetadataReader interface {
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	Metadata(ctx context.Context, kind object.Kind, sel object.Selection, visit func(*unstructured.Unstructured)) error
}

// Absent reports whether a release is not installed, of which Helm may have left the marks on objects that
// it kept, and the history. A release that cannot be read is not absent.
func Absent(ctx context.Context, reader MetadataReader, named inventory.Release) bool {
	for i, place := range Places() {
		kind, err := reader.Kind(ctx, place.Kind)
		if err != nil {
			return false
		}
		installed := false
		which := object.Selection{Namespace: named.Namespace, Labels: inventory.Labels(named.Name), Fields: place.Fields}
		err = reader.Metadata(ctx, kind, which, func(u *unstructured.Unstructured) {
			installed = installed || u.GetLabels()["status"] != "uninstalled"
		})
		switch {
		case i > 0 && apierrors.IsForbidden(err): // Secrets, the usual place, have no such release.
		case err != nil, installed:
			return false
		}
	}
	return true
}
