package pod

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Deadlock reports a rollout that waits for itself. The new Pod waits for the old Pod's volume, and
// the old Pod stays until the new one is ready.
func (v VolumeRules) Deadlock(d *appsv1.Deployment, pods []*corev1.Pod) []rule.Finding {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || mayGoFirst(d) {
		return nil
	}
	for _, waiting := range pods {
		if rule.Ready(waiting) || rule.Started(waiting) || waiting.DeletionTimestamp != nil {
			continue
		}
		done := v.OnlyKnownUnless(v.IsDetailed(waiting))
		defer done()
		for _, claim := range claimNames(waiting) {
			pvc := rule.Lookup[corev1.PersistentVolumeClaim](v.View, diagnose.RefOf("v1", "PersistentVolumeClaim", d.Namespace, claim))
			holder := v.holder(waiting, pvc)
			if holder == nil || !slices.Contains(pods, holder) || rule.Revision(holder) == rule.Revision(waiting) {
				continue
			}
			return []rule.Finding{deadlocked(d, pvc, waiting, holder)}
		}
	}
	return nil
}

// SharedVolume reports a new Pod that crashes while an old Pod on its node uses the same volume.
// The old Pod may have locked files.
func (v VolumeRules) SharedVolume(d *appsv1.Deployment, pods []*corev1.Pod) []rule.Finding {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || mayGoFirst(d) {
		return nil
	}
	for _, failing := range pods {
		if rule.Ready(failing) || !ends(failing) || failing.DeletionTimestamp != nil {
			continue
		}
		for _, claim := range claimNames(failing) {
			holder := holdsToo(failing, claim, pods)
			if holder == nil {
				continue
			}
			pvc := rule.Lookup[corev1.PersistentVolumeClaim](v.View, diagnose.RefOf("v1", "PersistentVolumeClaim", d.Namespace, claim))
			if pvc != nil && diagnose.ExclusiveMode(pvc) == corev1.ReadWriteOnce {
				return []rule.Finding{shared(d, pvc, failing, holder)}
			}
		}
	}
	return nil
}

func holdsToo(failing *corev1.Pod, claim string, pods []*corev1.Pod) *corev1.Pod {
	i := slices.IndexFunc(pods, func(p *corev1.Pod) bool {
		return p.UID != failing.UID && rule.Revision(p) != rule.Revision(failing) && p.Status.Phase == corev1.PodRunning &&
			p.Spec.NodeName == failing.Spec.NodeName && slices.Contains(claimNames(p), claim)
	})
	if i < 0 {
		return nil
	}
	return pods[i]
}

func ends(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		for _, state := range []corev1.ContainerState{s.State, s.LastTerminationState} {
			if state.Terminated != nil && state.Terminated.ExitCode != 0 {
				return true
			}
		}
		return false
	})
}

func shared(d *appsv1.Deployment, pvc *corev1.PersistentVolumeClaim, failing, holder *corev1.Pod) rule.Finding {
	return rule.Of(failing, rule.Root, event.Cause{
		Code: "VolumeShared",
		Message: "exits while Pod " + holder.Name + " from the older revision uses PersistentVolumeClaim " + pvc.Name +
			" on the same node: a program that locks its files cannot start before the old Pod is gone, and the rollout keeps the old Pod until this one is ready",
		Evidence: []string{
			"PersistentVolumeClaim " + pvc.Name + " is " + string(diagnose.ExclusiveMode(pvc)) + ": Pods on one node can share it",
			"both Pods are on node " + holder.Spec.NodeName,
			"the strategy RollingUpdate deletes no old Pod before a new one is ready",
		},
		Next:      recreate(d),
		Risk:      riskOfRecreate(holder),
		BlockedBy: diagnose.RefOf("v1", "Pod", holder.Namespace, holder.Name),
	})
}

func recreate(d *appsv1.Deployment) string {
	return rule.Kubectl(d.Namespace, "patch", diagnose.RefOf("apps/v1", "Deployment", d.Namespace, d.Name).Resource(), "--type=merge", "-p",
		`{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`)
}

func riskOfRecreate(holder *corev1.Pod) string {
	return "the old Pod is deleted before the new one is ready, in this rollout and every later one; set the strategy in the manifest too. Deleting Pod " + holder.Name + " helps only this time"
}

func deadlocked(d *appsv1.Deployment, pvc *corev1.PersistentVolumeClaim, waiting, holder *corev1.Pod) rule.Finding {
	r := diagnose.RefOf("apps/v1", "Deployment", d.Namespace, d.Name)
	evidence := []string{
		"PersistentVolumeClaim " + pvc.Name + " is " + string(diagnose.ExclusiveMode(pvc)),
		"Pod " + holder.Name + ", from the older revision, uses it on node " + holder.Spec.NodeName,
		"Pod " + waiting.Name + ", from the newer revision, waits for it" + onNode(waiting),
		"the strategy RollingUpdate deletes no old Pod before a new one is ready",
	}
	return rule.Finding{Rank: rule.Root, Cause: event.Cause{
		Code:      "VolumeDeadlock",
		Message:   rule.Name(r) + " is deadlocked: its new Pod waits for the old Pod's volume, and the old Pod is kept until the new one is ready",
		Evidence:  evidence,
		Next:      recreate(d),
		Risk:      riskOfRecreate(holder),
		BlockedBy: diagnose.RefOf("v1", "Pod", holder.Namespace, holder.Name),
	}}
}

func mayGoFirst(d *appsv1.Deployment) bool {
	replicas := 1
	if d.Spec.Replicas != nil {
		replicas = int(*d.Spec.Replicas)
	}
	most := intstr.FromString("25%")
	if d.Spec.Strategy.RollingUpdate != nil && d.Spec.Strategy.RollingUpdate.MaxUnavailable != nil {
		most = *d.Spec.Strategy.RollingUpdate.MaxUnavailable
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&most, replicas, false)
	return err != nil || n > 0
}

// holder returns the Pod that keeps another Pod from using an exclusive volume. ReadWriteOnce is exclusive to
// a node, so a Pod on the same node is none.
func (v VolumeRules) holder(waiting *corev1.Pod, pvc *corev1.PersistentVolumeClaim) *corev1.Pod {
	if pvc == nil || diagnose.ExclusiveMode(pvc) == "" {
		return nil
	}
	v.wantHolders(pvc)
	for _, p := range slices.Concat(v.Pods, v.holders(pvc.Namespace)) {
		done := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if p.UID == waiting.UID || p.Namespace != waiting.Namespace || done || p.Spec.NodeName == "" || !rule.Started(p) {
			continue
		}
		sameNode := p.Spec.NodeName == waiting.Spec.NodeName && diagnose.ExclusiveMode(pvc) == corev1.ReadWriteOnce
		if !sameNode && slices.Contains(claimNames(p), pvc.Name) {
			return p
		}
	}
	return nil
}

func onNode(p *corev1.Pod) string {
	if p.Spec.NodeName == "" {
		return " and is not scheduled"
	}
	return " on node " + p.Spec.NodeName
}

// Mounts explains which volume keeps a scheduled Pod from starting.
func (v VolumeRules) Mounts(p *corev1.Pod) []rule.Finding {
	if rule.Started(p) {
		return nil
	}
	found := v.ClaimsOf(p)
	for _, claim := range claimNames(p) {
		pvc := rule.Lookup[corev1.PersistentVolumeClaim](v.View, diagnose.RefOf("v1", "PersistentVolumeClaim", p.Namespace, claim))
		if pvc == nil {
			continue
		}
		if holder := v.holder(p, pvc); holder != nil {
			found = append(found, inUse(p, pvc, holder))
		} else if f, ok := v.attachedElsewhere(p, pvc); ok {
			found = append(found, f)
		}
	}
	if len(found) > 0 {
		return found
	}
	e := v.Warning(p, "FailedAttachVolume", "FailedMount", "FailedMapVolume", "FailedMountOnFilesystemMismatch")
	if e == nil {
		return nil
	}
	return []rule.Finding{rule.Of(p, rule.Direct, event.Cause{
		Code:     "VolumeNotMounted",
		Message:  "one of its volumes cannot be mounted (" + text.Excerpt(e.Reason) + ")",
		Evidence: append([]string{"on node " + p.Spec.NodeName}, rule.Quoted(e)...),
		Next:     rule.Kubectl(p.Namespace, "describe", "pod", p.Name),
	})}
}

func inUse(p *corev1.Pod, pvc *corev1.PersistentVolumeClaim, holder *corev1.Pod) rule.Finding {
	return rule.Of(p, rule.Root, event.Cause{
		Code:    "VolumeInUse",
		Message: "waits for PersistentVolumeClaim " + pvc.Name + ", which Pod " + holder.Name + " uses on node " + holder.Spec.NodeName,
		Evidence: []string{
			"PersistentVolumeClaim " + pvc.Name + " is " + string(diagnose.ExclusiveMode(pvc)),
			"Pod " + p.Name + " waits for it" + onNode(p),
		},
		Next:      rule.Kubectl(holder.Namespace, "get", "pod", holder.Name, "-o", "wide"),
		BlockedBy: diagnose.RefOf("v1", "Pod", holder.Namespace, holder.Name),
	})
}

// attachedElsewhere reports a volume that is still attached to another node, on which no Pod uses
// it.
func (v VolumeRules) attachedElsewhere(p *corev1.Pod, pvc *corev1.PersistentVolumeClaim) (rule.Finding, bool) {
	if pvc.Spec.VolumeName == "" || diagnose.ExclusiveMode(pvc) == "" || p.Spec.NodeName == "" {
		return rule.Finding{}, false
	}
	for _, u := range v.attachments() {
		a, ok := rule.As[storagev1.VolumeAttachment](v.View, u)
		if !ok || a.Spec.Source.PersistentVolumeName == nil || *a.Spec.Source.PersistentVolumeName != pvc.Spec.VolumeName || a.Spec.NodeName == p.Spec.NodeName {
			continue
		}
		r := diagnose.RefOf("storage.k8s.io/v1", "VolumeAttachment", "", a.Name)
		c := event.Cause{
			Code:      "VolumeAttachedElsewhere",
			Message:   "waits for the volume of PersistentVolumeClaim " + pvc.Name + ", which is still attached to node " + a.Spec.NodeName,
			Evidence:  []string{"VolumeAttachment " + a.Name + " attaches PersistentVolume " + pvc.Spec.VolumeName + " to node " + a.Spec.NodeName},
			Next:      rule.Describe(r),
			BlockedBy: r,
		}
		if a.Status.DetachError != nil {
			c.Evidence = append(c.Evidence, "detaching failed: "+text.Excerpt(a.Status.DetachError.Message))
		}
		c.Evidence = append(c.Evidence, rule.Quoted(v.Warning(p, "FailedAttachVolume"))...)
		return rule.Of(p, rule.Root, c), true
	}
	return rule.Finding{}, false
}
