package sets

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/applyset/history"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Manifests returns what a run stated, to be applied again. A Secret whose values were
// withheld keeps the values that the manager has in it now; if it no longer exists, it is
// left out. Both are reported.
func (k *Keeper) Manifests(ctx context.Context, run history.Run, manager string) ([]*unstructured.Unstructured, error) {
	var manifests []*unstructured.Unstructured
	for _, o := range run.Objects {
		u := o.Manifest
		if o.Withheld {
			var err error
			if u, err = k.fill(ctx, u, manager); err != nil {
				return nil, err
			}
		}
		if u != nil {
			manifests = append(manifests, u)
		}
	}
	return manifests, nil
}

// fill puts the live values into a Secret; nil if it does not exist.
func (k *Keeper) fill(ctx context.Context, u *unstructured.Unstructured, manager string) (filled *unstructured.Unstructured, err error) {
	kind, err := k.kind(ctx)
	if err != nil {
		return nil, err
	}
	ref := object.RefOf(u)
	k.Server.Live(ctx, kind, []object.Ref{ref}, func(_ int, live *unstructured.Unstructured, failed error) {
		if failed != nil || live == nil {
			err = failed
			return
		}
		entries, failed := managedfields.Entries(live)
		if failed != nil {
			err = failed
			return
		}
		filled = u.DeepCopy()
		if data, has := managedfields.Project(live.Object, managedfields.Managed(entries, manager))["data"]; has {
			filled.Object["data"] = data
		}
	})
	switch {
	case err != nil:
		return nil, err
	case filled == nil:
		k.Emit(event.Warned{Ref: ref, Text: "is gone, and is not created again: the history keeps no values of a Secret in another namespace"})
	default:
		k.Emit(event.Warned{Ref: ref, Text: "keeps its present values: the history keeps none of a Secret in another namespace"})
	}
	return filled, nil
}
