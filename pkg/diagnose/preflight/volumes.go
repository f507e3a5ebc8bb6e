package preflight

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// volumes reports rollouts that start a second Pod while the first one has a volume for
// only one Pod or one node.
func (v *view) volumes() []event.Remarked {
	var out []event.Remarked
	for _, t := range v.set.fresh() {
		d, ok := deploymentOf(t.of.After)
		if !ok {
			continue
		}
		for _, vol := range t.spec.Volumes {
			if vol.PersistentVolumeClaim == nil {
				continue
			}
			name := vol.PersistentVolumeClaim.ClaimName
			r := event.Remarked{Ref: t.of.Ref}
			if v.contends(&r, t, d, name, v.exclusiveMode(t.of.Ref.Namespace, name)) {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

// contends fills in the remark if Pods of the Deployment will compete for the volume.
func (v *view) contends(r *event.Remarked, t template, d *appsv1.Deployment, claim string, mode corev1.PersistentVolumeAccessMode) bool {
	if mode == corev1.ReadWriteOncePod && replicas(d.Spec.Replicas) > 1 {
		r.Code, r.Path = "VolumeInUse", ".spec.replicas"
		r.Text = fmt.Sprintf("PersistentVolumeClaim %s is ReadWriteOncePod: of %d Pods, one gets it, and the others get no node", text.Excerpt(claim), replicas(d.Spec.Replicas))
		r.Hint = "set replicas to 1, or give each Pod a claim of its own with a StatefulSet"
		return true
	}
	before, was := deploymentOf(t.of.Before)
	if !was || mode == "" || !holds(before, claim) || d.Spec.Paused || replicas(d.Spec.Replicas) == 0 || !startsFirst(d) {
		return false
	}
	r.Path = ".spec.strategy"
	r.Hint = "set strategy: {type: Recreate}, which ends the old Pod first"
	if mode == corev1.ReadWriteOncePod {
		r.Code = "VolumeDeadlock"
		r.Text = fmt.Sprintf("this rollout will wait for itself: the new Pod waits for PersistentVolumeClaim %s (ReadWriteOncePod) that the old one has, and RollingUpdate keeps the old one until the new one is ready", text.Excerpt(claim))
		return true
	}
	if before.Status.ReadyReplicas > 1 {
		return false // Pods on one node can share it.
	}
	r.Code = "VolumeShared"
	r.Text = fmt.Sprintf("this rollout starts the new Pod while the old one has PersistentVolumeClaim %s (ReadWriteOnce): on another node it may wait for the volume for ever, and on the same node both use it", text.Excerpt(claim))
	return true
}

// holds reports whether Pods of the Deployment use the claim now.
func holds(d *appsv1.Deployment, claim string) bool {
	if d.Status.Replicas == 0 {
		return false
	}
	for _, vol := range d.Spec.Template.Spec.Volumes {
		if vol.PersistentVolumeClaim != nil && vol.PersistentVolumeClaim.ClaimName == claim {
			return true
		}
	}
	return false
}

// exclusiveMode returns the access mode of a claim if it is for one node or one Pod, and ""
// otherwise.
func (v *view) exclusiveMode(namespace, claim string) corev1.PersistentVolumeAccessMode {
	ref := refOf(core("PersistentVolumeClaim"), namespace, claim)
	var u *unstructured.Unstructured
	if o := v.set.find(ref); o != nil {
		u = o.After
	} else if u, _ = v.Get(ref.GVK, namespace, claim); u == nil {
		return ""
	}
	pvc, ok := typedAs[corev1.PersistentVolumeClaim](u)
	if !ok {
		return ""
	}
	return diagnose.ExclusiveMode(pvc)
}

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
