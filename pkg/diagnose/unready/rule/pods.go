package rule

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	keepUnready = 200
	// keepReady is the number of ready Pods that are kept for comparison with unready ones.
	keepReady = 20
	// keepFailed is low because failed Pods either have been replaced or all failed for the same
	// reason.
	keepFailed = 20
	// MostDetailed is the maximum number of Pods to examine in detail. The objects to which a Pod
	// refers are read only for these Pods.
	MostDetailed = 10
)

// ReadPods lists the Pods that pass the filter (mine), or all Pods if mine is nil. It chooses which
// of them to examine in detail. The parameter kept names this filter.
func (v *View) ReadPods(namespace, labels, kept string, mine func(*unstructured.Unstructured) bool) Pods {
	q := diagnose.Question{Verb: diagnose.List, GVK: diagnose.KindOf("v1", "Pod"), Namespace: namespace, Labels: labels, Kept: "telling " + kept}
	if list, ok := v.lists[q]; ok {
		return list
	}
	ask := v.Collect
	if v.OnlyKnown {
		ask = func(q diagnose.Question, _ func() diagnose.Collector) (diagnose.Answer, bool) { return v.Known(q) }
	}
	a, sure := ask(q, func() diagnose.Collector { return &reporting{mine: mine} })
	list := Pods{More: a.More, Sure: sure}
	for _, u := range a.Objects {
		if p, ok := As[corev1.Pod](v, u); ok {
			list.Pods = append(list.Pods, p)
		}
	}
	v.lists[q] = list
	v.More += list.More
	for _, p := range list.Pods {
		if !slices.ContainsFunc(v.Pods, func(other *corev1.Pod) bool { return p.UID != "" && other.UID == p.UID }) {
			v.Pods = append(v.Pods, p)
		}
	}
	v.chooseDetailed(list.Pods)
	return list
}

type reporting struct {
	mine                   func(*unstructured.Unstructured) bool
	kept                   []*unstructured.Unstructured
	unready, ready, failed int
}

func (t *reporting) Add(u *unstructured.Unstructured) {
	if t.mine != nil && !t.mine(u) {
		return
	}
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	number, most := &t.unready, keepUnready
	switch {
	case phase == string(corev1.PodSucceeded):
		return
	case phase == string(corev1.PodFailed): // Thousands may have been evicted.
		number, most = &t.failed, keepFailed
	case object.ConditionOf(u, string(corev1.PodReady)).Status == "True":
		number, most = &t.ready, keepReady
	}
	if *number++; *number <= most {
		t.kept = append(t.kept, diagnose.Slim(u))
	}
}

func (t *reporting) Collected() ([]*unstructured.Unstructured, int) {
	return t.kept, max(0, t.unready-keepUnready)
}

// PodsOf returns the Pods that the owner controls. It considers only Pods that were read.
func (v *View) PodsOf(owner types.UID) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range v.Pods {
		if controller := metav1.GetControllerOfNoCopy(pod); controller != nil && controller.UID == owner {
			out = append(out, pod)
		}
	}
	return out
}

// ControlledBy returns a function that reports whether one of the owners controls an object.
func ControlledBy(owners ...types.UID) func(*unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool {
		controller := metav1.GetControllerOfNoCopy(u)
		return controller != nil && slices.Contains(owners, controller.UID)
	}
}

// chooseDetailed chooses up to three Pods of each state. The rest of the limit goes to Pods of the
// same states that need another node or other objects: one of those may be at fault.
func (v *View) chooseDetailed(pods []*corev1.Pod) {
	states, needs := map[string]int{}, map[string]bool{}
	chosen := 0
	choose := func(p *corev1.Pod) {
		chosen++
		needs[stateOf(p)+needsOf(p)] = true
		v.detailed[nameOf(p)] = true
	}
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return Ready(p) || p.Status.Phase == corev1.PodFailed })
	for _, p := range pods {
		if states[stateOf(p)]++; states[stateOf(p)] <= 3 && chosen < MostDetailed {
			choose(p)
		}
	}
	for _, p := range pods {
		if !needs[stateOf(p)+needsOf(p)] && chosen < MostDetailed {
			choose(p)
		}
	}
}

// needsOf identifies what a Pod needs: its node, and the objects in its volumes. The claims of a
// StatefulSet's Pods differ in name only.
func needsOf(p *corev1.Pod) string {
	words := []string{p.Spec.NodeName}
	for _, volume := range p.Spec.Volumes {
		words = append(words, volume.Name)
		switch {
		case volume.Secret != nil:
			words = append(words, volume.Secret.SecretName)
		case volume.ConfigMap != nil:
			words = append(words, volume.ConfigMap.Name)
		}
	}
	return strings.Join(words, " ")
}

// IsDetailed reports whether the objects that the Pod refers to have been read.
func (v *View) IsDetailed(p *corev1.Pod) bool { return v.detailed[nameOf(p)] }

// Pods are the Pods that were chosen from a list. If Sure is not set, the list could not be read.
type Pods struct {
	Pods []*corev1.Pod
	// More counts the unready Pods that were left out.
	More int
	Sure bool
}

func nameOf(p *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

func stateOf(p *corev1.Pod) string {
	words := []string{string(p.Status.Phase), PodCondition(p, corev1.PodScheduled).Reason, Revision(p)}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Waiting != nil {
			words = append(words, s.Name, s.State.Waiting.Reason)
		}
	}
	return strings.Join(words, " ")
}

// Unstarted reports whether a container may still be waiting for an object that it needs.
func Unstarted(p *corev1.Pod) bool {
	return WaitsFor(p, "ContainerCreating", "PodInitializing", "CreateContainerConfigError") || len(p.Status.ContainerStatuses) == 0
}

// WaitsFor reports whether a container of the Pod is waiting with one of the reasons.
func WaitsFor(p *corev1.Pod, reasons ...string) bool {
	return slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason)
	})
}

// Ready reports whether the Pod's condition Ready is true.
func Ready(p *corev1.Pod) bool {
	return PodCondition(p, corev1.PodReady).Status == corev1.ConditionTrue
}

// PodCondition returns the Pod's condition of the given type, or an empty condition if there is
// none.
func PodCondition(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return corev1.PodCondition{}
	}
	return p.Status.Conditions[i]
}

// Of returns a finding about the Pod.
func Of(p *corev1.Pod, rank Rank, c event.Cause) Finding {
	return Finding{Cause: c, Rank: rank, Who: Name(diagnose.RefOf("v1", "Pod", p.Namespace, p.Name)), Noun: "Pod"}
}

// Started reports whether a container of the Pod is running, or has run.
func Started(p *corev1.Pod) bool {
	all := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	return slices.ContainsFunc(all, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil || s.RestartCount > 0
	})
}

// Revision returns the hash of the Deployment's template from which the Pod was created.
func Revision(p *corev1.Pod) string { return p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] }
