package sets

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Promised returns what tells where the members of a set have been: in the kinds and the
// namespaces of what the runs stated that its history has.
func Promised(server HistoryServer) func(ctx context.Context, parent object.Ref) (applyset.Promise, error) {
	return func(ctx context.Context, parent object.Ref) (applyset.Promise, error) {
		if parent.Namespace == "" {
			return applyset.Promise{}, nil // Such a set has none.
		}
		k := &Keeper{Server: server, Parent: parent, Emit: func(event.Event) {}}
		kept, err := k.Runs(ctx)
		if err != nil {
			return applyset.Promise{}, err
		}
		var refs []object.Ref
		for _, run := range kept.Runs {
			for _, o := range run.Objects {
				refs = append(refs, object.RefOf(o.Manifest))
			}
		}
		return applyset.PromiseOf(refs), nil
	}
}
