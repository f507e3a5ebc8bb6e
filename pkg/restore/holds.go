package restore

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// contents visits what goes with an object that is deleted.
type contents func(ctx context.Context, live *unstructured.Unstructured, visit func(*unstructured.Unstructured)) error

// hold says why an object that the run has created stays: others have put something into
// it, which would go with it. It is empty if they have not.
func (c contents) hold(ctx context.Context, live *unstructured.Unstructured) string {
	if c == nil {
		return ""
	}
	var others []object.Ref
	err := c(ctx, live, func(u *unstructured.Unstructured) {
		if isOfOthers(u) {
			others = append(others, object.RefOf(u))
		}
	})
	switch {
	case len(others) == 0 && err != nil:
		return fmt.Sprintf("whether others have put something into it is unknown: %v", err)
	case len(others) == 0:
		return ""
	}
	slices.SortFunc(others, object.Ref.Compare)
	more := ""
	if n := len(slices.Compact(others)) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("it holds %s%s, which would go with it", others[0], more)
}

// isOfOthers reports whether another client made the object for itself. That is false
// for an object that is being deleted, that goes with another object, or that the cluster
// puts into every namespace.
func isOfOthers(u *unstructured.Unstructured) bool {
	if u.GetDeletionTimestamp() != nil || len(u.GetOwnerReferences()) > 0 {
		return false
	}
	gvk := u.GroupVersionKind()
	switch gvk.GroupKind().String() {
	case "Lease.coordination.k8s.io", "Endpoints":
		return false // A client that needs one makes it again.
	case "ConfigMap":
		return u.GetName() != "kube-root-ca.crt"
	case "ServiceAccount":
		return u.GetName() != "default"
	case "Secret":
		return u.GetAnnotations()["kubernetes.io/service-account.name"] == "" // The token of an account.
	}
	return true
}
