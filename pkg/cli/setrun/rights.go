package setrun

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/roles"
)

// Rights adds the rights that the run needs for its set. history means that the run keeps its
// history.
func (r *Run) Rights(ctx context.Context, all *roles.Rights, history bool) error {
	parent, kind := r.set.Record.Parent, r.set.Kind
	verbs := []string{"get", "patch"}
	if applyset.MayBeParent(parent.GVK.GroupKind()) {
		verbs = append(verbs, "create")
	} else {
		all.AddResource("apiextensions.k8s.io", "customresourcedefinitions", "", kind.Resource+"."+kind.GVK.Group, "get")
	}
	all.Add(kind, parent, verbs...)
	// The server sees no name in a POST request.
	lease := LeaseOf(parent)
	all.Add(LeaseKind(), lease, "get", "patch")
	all.AddResource(lease.GVK.Group, LeaseKind().Resource, lease.Namespace, "", "create")
	all.AddResource("", "events", lease.Namespace, "", "create")
	if history && parent.Namespace != "" {
		all.AddResource("", "secrets", parent.Namespace, "", "list", "create", "patch", "delete") // Their names depend on the run.
	}
	if !r.options.Prune {
		return nil
	}
	promise := r.set.Record.Promise.Union(r.promise())
	for _, gk := range promise.Kinds {
		kind, err := r.Server.Preferred(ctx, gk)
		switch {
		case meta.IsNoMatchError(err):
			continue // Such a set is incomplete, and the prune says so.
		case err != nil:
			return err
		case !kind.Namespaced:
			all.Add(kind, object.Ref{}, "list")
			continue
		}
		for _, namespace := range promise.Namespaces {
			all.Add(kind, object.Ref{Namespace: namespace}, "list")
		}
	}
	return nil
}
