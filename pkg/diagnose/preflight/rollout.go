package preflight

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func deploymentOf(u *unstructured.Unstructured) (*appsv1.Deployment, bool) {
	if u == nil || u.GroupVersionKind() != apps("Deployment") {
		return nil, false
	}
	return typedAs[appsv1.Deployment](u)
}

// startsFirst reports whether a rollout starts a new Pod before an old one ends.
func startsFirst(d *appsv1.Deployment) bool {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return false
	}
	share := intstr.FromString("25%")
	surge, unavailable := &share, &share
	if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
		surge, unavailable = cmp.Or(rolling.MaxSurge, surge), cmp.Or(rolling.MaxUnavailable, unavailable)
	}
	more, err := intstr.GetScaledValueFromIntOrPercent(surge, replicas(d.Spec.Replicas), true)
	less, err2 := intstr.GetScaledValueFromIntOrPercent(unavailable, replicas(d.Spec.Replicas), false)
	return err == nil && err2 == nil && less == 0 && more > 0 // If both are 0, one Pod may be unavailable.
}

func replicas(stated *int32) int {
	if stated == nil {
		return 1
	}
	return int(*stated)
}
