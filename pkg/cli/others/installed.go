package others

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/helmrelease"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/inventory"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Reader reads the metadata of objects.
type Reader interface {
	Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error)
	Metadata(ctx context.Context, kind object.Kind, sel object.Selection, visit func(*unstructured.Unstructured)) error
}

// Absent returns a function that reports whether a Helm release is not installed: Helm leaves its marks on
// objects that it keeps when it uninstalls a release. If the account may not read releases, they count
// as installed.
func Absent(ctx context.Context, reader Reader) func(applyset.Claim) bool {
	return func(claim applyset.Claim) bool {
		namespace, name, named := strings.Cut(claim.Name, "/")
		if claim.Of != "Helm release" || !named {
			return false
		}
		for _, place := range helmrelease.Places() {
			kind, err := reader.Kind(ctx, place.Kind)
			if err != nil {
				return false
			}
			installed := false
			which := object.Selection{Namespace: namespace, Labels: inventory.Labels(name), Fields: place.Fields}
			err = reader.Metadata(ctx, kind, which, func(u *unstructured.Unstructured) {
				installed = installed || u.GetLabels()["status"] != "uninstalled"
			})
			if err != nil || installed {
				return false
			}
		}
		return true
	}
}

// marked describes objects with the marks of an owner that does not exist any more.
func marked(claim applyset.Claim, names []string) string {
	const shown = 3
	if len(names) == 1 {
		return names[0] + " carries the marks of " + claim.String() + ", which is not installed"
	}
	return text.Count(len(names), "object") + " carry the marks of " + claim.String() + ", which is not installed: " + text.List(names, shown)
}
