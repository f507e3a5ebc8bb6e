package owners

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

// Rollouts reads the recorded writes of the Pod template of a workload, with the latest last. It
// returns none if no webhook records them, or if the user may not read records: the revisions are
// known without them.
func Rollouts(ctx context.Context, reader Reader, u *unstructured.Unstructured) ([]event.Rollout, error) {
	found, err := reader.Read(ctx, object.Ref{GVK: ownership.RecordGVK(), Namespace: u.GetNamespace(), Name: ownership.RolloutRecordName(u.GetUID())})
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var record ownership.Record
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, &record); err != nil {
		return nil, fmt.Errorf("read %s: %w", object.RefOf(found), err)
	}
	var out []event.Rollout
	for _, one := range record.Rollouts {
		w := event.Rollout{Time: one.Time.UTC(), User: one.User, Before: one.Before, After: one.After}
		if one.By.Manager != "" {
			w.Writer = &ownersOf([]ownership.Holder{one.By})[0]
		}
		out = append(out, w)
	}
	return out, nil
}
