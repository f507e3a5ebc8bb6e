package deletion

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// aggregator is the field manager with which kube-controller-manager applies the rules of
// aggregated ClusterRoles.
const aggregator = "clusterrole-aggregation-controller"

// isAggregated reports whether the rules of u are written by kube-controller-manager.
func isAggregated(u *unstructured.Unstructured) bool {
	if u == nil || u.GetKind() != "ClusterRole" || u.GroupVersionKind().Group != "rbac.authorization.k8s.io" {
		return false
	}
	return u.Object["aggregationRule"] != nil
}

// isRemnant reports whether u is an aggregated ClusterRole that came back after its deletion. The
// controller applies the rules, by name and without a UID, to each role that its cache still holds;
// if the role is gone by then, the server creates one that has nothing but rules.
func isRemnant(u *unstructured.Unstructured) bool {
	entries := u.GetManagedFields()
	for _, entry := range entries {
		if entry.Manager != aggregator {
			return false
		}
	}
	return len(entries) > 0 && !isAggregated(u)
}

// sweep looks once more at the aggregated ClusterRoles that are gone, and deletes what its
// controller created of one meanwhile.
func (e *Engine) sweep(ctx context.Context) {
	e.mu.Lock()
	gone := e.aggregates
	e.mu.Unlock()
	for _, t := range gone {
		live, err := e.Server.Get(ctx, *t.kind, t.Ref)
		if err != nil || !isRemnant(live) { // Nearly always it is not found.
			continue
		}
		how := object.Deletion{UID: live.GetUID(), ResourceVersion: live.GetResourceVersion()}
		_, err = e.Server.Delete(ctx, *t.kind, t.Ref, how)
		text := aggregator + " had created it anew, with nothing but rules; it was deleted again"
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			text = fmt.Sprintf("%s created it anew, with nothing but rules, and it was not deleted again: %v", aggregator, redact.Refusal(t.Ref, err))
		}
		e.mu.Lock()
		e.Emit(event.Warned{Ref: t.Ref, Text: text})
		e.mu.Unlock()
	}
}
