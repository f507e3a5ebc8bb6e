package unready

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func (v *rules) deployment(d *appsv1.Deployment) []rule.Finding {
	r := diagnose.RefOf("apps/v1", "Deployment", d.Namespace, d.Name)
	var found []rule.Finding
	if d.Spec.Paused {
		found = append(found, rule.Finding{Rank: rule.Root, Cause: event.Cause{
			Code:      "Paused",
			Message:   rule.Name(r) + " is paused: changes to it are not rolled out",
			Evidence:  []string{".spec.paused is true"},
			Next:      rule.Kubectl(d.Namespace, "rollout", "resume", r.Resource()),
			Risk:      "all changes made since it was paused are rolled out",
			BlockedBy: r,
		}})
	}
	var pods []*corev1.Pod
	sets, known := v.replicaSetsOf(d)
	if !known {
		found = append(found, v.refusedBelow(d)...)
	}
	for _, rs := range sets {
		below := v.replicaSetOf(rs)
		for i := range below {
			// The controller deletes Pods of older revisions regardless of their state.
			below[i].Passing = rs.Annotations[deploymentRevision] != d.Annotations[deploymentRevision]
		}
		found = append(found, below...)
		pods = append(pods, v.PodsOf(rs.UID)...)
	}
	if stuck := v.volumes.Deadlock(d, pods); stuck != nil {
		found = slices.DeleteFunc(found, func(f rule.Finding) bool { return f.Code == "VolumeInUse" })
		found = append(found, stuck...)
	} else {
		found = append(found, v.volumes.SharedVolume(d, pods)...)
	}
	for _, c := range d.Status.Conditions {
		gaveUp := c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && !d.Spec.Paused
		// A condition from an older generation does not count (edge case 52, k/k#40496).
		if gaveUp && c.Reason == "ProgressDeadlineExceeded" && d.Status.ObservedGeneration >= d.Generation {
			found = append(found, v.deadline(d, c))
		}
	}
	return found
}

func (v *rules) deadline(d *appsv1.Deployment, c appsv1.DeploymentCondition) rule.Finding {
	r := diagnose.RefOf("apps/v1", "Deployment", d.Namespace, d.Name)
	limit := int32(600)
	if d.Spec.ProgressDeadlineSeconds != nil {
		limit = *d.Spec.ProgressDeadlineSeconds
	}
	return rule.Finding{Rank: rule.Consequence, Cause: event.Cause{
		Code:     "ProgressDeadlineExceeded",
		Message:  fmt.Sprintf("%s made no progress within its progressDeadlineSeconds (%d s)", rule.Name(r), limit),
		Evidence: []string{"condition Progressing=False: " + text.Excerpt(c.Message)},
		Next:     rule.Describe(r),
	}}
}

const deploymentRevision = "deployment.kubernetes.io/revision"

// replicaSetsOf returns the Deployment's ReplicaSets that have or want Pods. It also reads the Pods
// of these ReplicaSets.
func (v *rules) replicaSetsOf(d *appsv1.Deployment) ([]*appsv1.ReplicaSet, bool) {
	selector := selectorOf(d.Spec.Selector)
	if selector == "" {
		return nil, true
	}
	misses := v.Misses()
	objects, sure := v.Select(diagnose.Question{GVK: diagnose.KindOf("apps/v1", "ReplicaSet"), Namespace: d.Namespace, Labels: selector, Kept: "of " + string(d.UID)}, func(u *unstructured.Unstructured) bool {
		if !metav1.IsControlledBy(u, d) {
			return false
		}
		rs, ok := diagnose.As[appsv1.ReplicaSet](u) // Few are kept, so do not cache the conversion.
		if !ok {
			return false
		}
		idle := rs.Spec.Replicas != nil && *rs.Spec.Replicas == 0 && rs.Status.Replicas == 0 // It only serves rollbacks.
		return !idle || rs.Annotations[deploymentRevision] == d.Annotations[deploymentRevision]
	})
	if v.Misses() > misses {
		return nil, true // The owners of the Pods are not known yet.
	}
	var sets []*appsv1.ReplicaSet
	var uids []types.UID
	for _, u := range objects {
		if rs, ok := rule.As[appsv1.ReplicaSet](v.View, u); ok {
			sets, uids = append(sets, rs), append(uids, rs.UID)
		}
	}
	v.ReadPods(d.Namespace, selector, fmt.Sprint("of ", uids), rule.ControlledBy(uids...))
	return sets, sure
}

// refusedBelow uses the Deployment's status to explain why Pods are not created, if the
// Deployment's ReplicaSets are unknown.
func (v *rules) refusedBelow(d *appsv1.Deployment) []rule.Finding {
	w := workload{ref: diagnose.RefOf("apps/v1", "Deployment", d.Namespace, d.Name), object: d, template: d.Spec.Template.Spec}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			w.short, w.refusal, w.refusedAt = true, c.Message, c.LastTransitionTime.Time
		}
	}
	return v.refused(w)
}

func (v *rules) replicaSet(rs *appsv1.ReplicaSet) []rule.Finding {
	v.readPodsOf(rs, selectorOf(rs.Spec.Selector))
	return v.replicaSetOf(rs)
}

func (v *rules) replicaSetOf(rs *appsv1.ReplicaSet) []rule.Finding {
	w := workload{ref: diagnose.RefOf("apps/v1", "ReplicaSet", rs.Namespace, rs.Name), object: rs, template: rs.Spec.Template.Spec}
	for _, c := range rs.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			w.refusal, w.refusedAt = c.Message, c.LastTransitionTime.Time
		}
	}
	w.short = rs.Spec.Replicas != nil && rs.Status.Replicas < *rs.Spec.Replicas
	return v.workload(w, rs.Spec.MinReadySeconds)
}

func (v *rules) replicationController(rc *corev1.ReplicationController) []rule.Finding {
	w := workload{ref: diagnose.RefOf("v1", "ReplicationController", rc.Namespace, rc.Name), object: rc}
	if len(rc.Spec.Selector) > 0 {
		w.selector = labels.SelectorFromSet(rc.Spec.Selector).String()
	}
	if rc.Spec.Template != nil {
		w.template = rc.Spec.Template.Spec
	}
	for _, c := range rc.Status.Conditions {
		if c.Type == corev1.ReplicationControllerReplicaFailure && c.Status == corev1.ConditionTrue {
			w.refusal, w.refusedAt = c.Message, c.LastTransitionTime.Time
		}
	}
	w.short = rc.Spec.Replicas != nil && rc.Status.Replicas < *rc.Spec.Replicas
	return v.workload(w, rc.Spec.MinReadySeconds)
}

func (v *rules) workload(w workload, minReadySeconds int32) []rule.Finding {
	v.readPodsOf(w.object, w.selector)
	found := v.refused(w)
	pods := v.PodsOf(w.object.GetUID())
	for _, pod := range pods {
		for _, f := range v.pods.Explain(pod) {
			if pod.Status.Phase == corev1.PodFailed && w.ref.GVK.Kind != "Job" {
				f.Rank = rule.Replaced
			}
			f.Passing = f.Passing || w.replaced != nil && w.replaced(pod)
			found = append(found, f)
		}
	}
	found = append(found, v.pods.Images(pods)...)
	return append(found, v.notLongReady(w.ref, pods, minReadySeconds)...)
}

func (v *rules) readPodsOf(owner metav1.Object, selector string) {
	if selector != "" {
		v.ReadPods(owner.GetNamespace(), selector, "of "+string(owner.GetUID()), rule.ControlledBy(owner.GetUID()))
	}
}

func (v *rules) notLongReady(r object.Ref, pods []*corev1.Pod, minReadySeconds int32) []rule.Finding {
	if minReadySeconds == 0 || v.Now.IsZero() {
		return nil
	}
	young := 0
	for _, pod := range pods {
		c := rule.PodCondition(pod, corev1.PodReady)
		if c.Status == corev1.ConditionTrue && v.Now.Sub(c.LastTransitionTime.Time).Seconds() < float64(minReadySeconds) {
			young++
		}
	}
	if young == 0 {
		return nil
	}
	return []rule.Finding{{Rank: rule.Consequence, Cause: event.Cause{
		Code:     "MinReadySeconds",
		Message:  fmt.Sprintf("%s of %s became ready less than minReadySeconds (%d s) ago", text.Count(young, "Pod"), rule.Name(r), minReadySeconds),
		Evidence: []string{fmt.Sprintf(".spec.minReadySeconds is %d", minReadySeconds)},
	}}}
}

func (v *rules) statefulSet(s *appsv1.StatefulSet) []rule.Finding {
	r := diagnose.RefOf("apps/v1", "StatefulSet", s.Namespace, s.Name)
	w := workload{ref: r, object: s, template: s.Spec.Template.Spec, selector: selectorOf(s.Spec.Selector)}
	w.short = s.Spec.Replicas != nil && s.Status.Replicas < *s.Spec.Replicas
	old := func(pod *corev1.Pod) bool {
		revision := pod.Labels[appsv1.StatefulSetRevisionLabel]
		return s.Status.UpdateRevision != "" && revision != "" && revision != s.Status.UpdateRevision
	}
	w.replaced = func(pod *corev1.Pod) bool { return old(pod) && replacesInTurn(s) }
	found := v.workload(w, s.Spec.MinReadySeconds)
	pods := v.PodsOf(s.UID)
	if s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return append(found, v.onDelete(r, pods, old)...)
	}
	// If a Pod of an older revision is not ready, the controller waits for it and does not replace
	// it (k/k#67250).
	i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return old(pod) && !rule.Ready(pod) && pod.DeletionTimestamp == nil })
	if i < 0 || s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
		return found
	}
	pod := pods[i]
	return append(found, rule.Finding{Rank: rule.Root, Cause: event.Cause{
		Code:    "StatefulSetPodStuck",
		Message: fmt.Sprintf("Pod %s has an older revision and is not ready; %s waits for it instead of replacing it", pod.Name, rule.Name(r)),
		Evidence: []string{
			fmt.Sprintf("Pod %s has revision %s; the latest is %s", pod.Name, text.Excerpt(pod.Labels[appsv1.StatefulSetRevisionLabel]), s.Status.UpdateRevision),
			".spec.podManagementPolicy is OrderedReady",
		},
		Next:      rule.Kubectl(pod.Namespace, "delete", "pod", pod.Name),
		Risk:      "the Pod is deleted and created again from the new template; its claims are kept",
		BlockedBy: diagnose.RefOf("v1", "Pod", pod.Namespace, pod.Name),
	}})
}

// replacesInTurn reports whether the StatefulSet replaces Pods of an older revision without waiting
// for them to become ready.
func replacesInTurn(s *appsv1.StatefulSet) bool {
	rolling := s.Spec.UpdateStrategy.RollingUpdate
	return s.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType && s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement &&
		(rolling == nil || rolling.Partition == nil || *rolling.Partition == 0)
}

func (v *rules) onDelete(r object.Ref, pods []*corev1.Pod, old func(*corev1.Pod) bool) []rule.Finding {
	var names []string
	for _, pod := range pods {
		if old(pod) {
			names = append(names, pod.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []rule.Finding{{Rank: rule.Root, Cause: event.Cause{
		Code:      "UpdateOnDelete",
		Message:   fmt.Sprintf("an older revision is still running in %s of %s: the update strategy OnDelete replaces a Pod only when it is deleted", text.Count(len(names), "Pod"), rule.Name(r)),
		Evidence:  []string{"from an older revision: " + text.List(names, 3)},
		Next:      rule.Kubectl(r.Namespace, "delete", "pod", names[0]),
		Risk:      "the Pod is deleted and created again from the new template",
		BlockedBy: diagnose.RefOf("v1", "Pod", r.Namespace, names[0]),
	}}}
}

func (v *rules) daemonSet(d *appsv1.DaemonSet) []rule.Finding {
	r := diagnose.RefOf("apps/v1", "DaemonSet", d.Namespace, d.Name)
	w := workload{ref: r, object: d, template: d.Spec.Template.Spec, selector: selectorOf(d.Spec.Selector)}
	w.short = d.Status.CurrentNumberScheduled < d.Status.DesiredNumberScheduled
	// The status does not contain the template's hash.
	current := d.Annotations[appsv1.DeprecatedTemplateGeneration]
	old := func(pod *corev1.Pod) bool {
		generation := pod.Labels["pod-template-generation"]
		return current != "" && generation != "" && generation != current
	}
	if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		return append(v.workload(w, d.Spec.MinReadySeconds), v.onDelete(r, v.PodsOf(d.UID), old)...)
	}
	w.replaced = old
	return v.workload(w, d.Spec.MinReadySeconds)
}
