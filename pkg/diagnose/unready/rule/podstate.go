package rule

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

func nameOf(p *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// stateOf returns a key that differs for Pods that wait for different things.
func stateOf(p *corev1.Pod) string {
	words := []string{string(p.Status.Phase), PodCondition(p, corev1.PodScheduled).Reason, Revision(p)}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Waiting != nil {
			words = append(words, s.Name, s.State.Waiting.Reason)
		}
	}
	return strings.Join(words, " ")
}

// Unstarted reports whether a container waits for something that has to exist before it is
// created.
func Unstarted(p *corev1.Pod) bool {
	return WaitsFor(p, "ContainerCreating", "PodInitializing", "CreateContainerConfigError") || len(p.Status.ContainerStatuses) == 0
}

// WaitsFor reports whether a container of the Pod waits with one of the reasons.
func WaitsFor(p *corev1.Pod, reasons ...string) bool {
	return slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason)
	})
}

// Ready reports whether the Pod's condition Ready is true.
func Ready(p *corev1.Pod) bool {
	return PodCondition(p, corev1.PodReady).Status == corev1.ConditionTrue
}

// PodCondition returns the condition of a type; an empty one if there is none.
func PodCondition(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return corev1.PodCondition{}
	}
	return p.Status.Conditions[i]
}

// Of returns a cause as a finding about the Pod.
func Of(p *corev1.Pod, rank Rank, c event.Cause) Finding {
	return Finding{Cause: c, Rank: rank, Who: Name(Ref(Core("Pod"), p.Namespace, p.Name)), Noun: "Pod"}
}

// Started reports whether a container of the Pod runs, or has run.
func Started(p *corev1.Pod) bool {
	all := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	return slices.ContainsFunc(all, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil || s.RestartCount > 0
	})
}

// Revision identifies the template of a Deployment from which the Pod was made.
func Revision(p *corev1.Pod) string { return p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] }
