package unready

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

// Bounds of what is looked at for one object.
const (
	// keepUnready is how many Pods that are not ready are kept; of the others only
	// their number.
	keepUnready = 200
	// keepReady is how many Pods that are ready are kept, to compare with.
	keepReady = 20
	// keepFailed is how many Pods that have failed are kept. They are replaced
	// already, or what they failed of is the same for all.
	keepFailed = 20
	// detail is of how many Pods is read what they refer to.
	detail = 10
)

// readPods lists Pods once, and chooses those of which is read what they refer to. mine
// are the Pods that are meant, of which kept is the name; nil means all.
func (v *view) readPods(namespace, labels, kept string, mine func(*unstructured.Unstructured) bool) podList {
	q := diagnose.Question{Verb: diagnose.List, GVK: core("Pod"), Namespace: namespace, Labels: labels, Kept: "telling " + kept}
	if list, ok := v.lists[q]; ok {
		return list
	}
	ask := v.Collect
	if v.onlyKnown {
		ask = func(q diagnose.Question, _ func() diagnose.Collector) (diagnose.Answer, bool) { return v.known(q) }
	}
	a, sure := ask(q, func() diagnose.Collector { return &telling{mine: mine} })
	list := podList{more: a.More, sure: sure}
	for _, u := range a.Objects {
		if p, ok := as[corev1.Pod](u); ok {
			list.pods = append(list.pods, p)
		}
	}
	v.lists[q] = list
	v.more += list.more
	for _, p := range list.pods {
		if !slices.ContainsFunc(v.pods, func(other *corev1.Pod) bool { return p.UID != "" && other.UID == p.UID }) {
			v.pods = append(v.pods, p)
		}
	}
	v.chooseDetailed(list.pods)
	return list
}

// telling keeps those Pods that tell something.
type telling struct {
	mine                   func(*unstructured.Unstructured) bool
	kept                   []*unstructured.Unstructured
	unready, ready, failed int
}

func (t *telling) Add(u *unstructured.Unstructured) {
	if t.mine != nil && !t.mine(u) {
		return
	}
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	number, most := &t.unready, keepUnready
	switch {
	case phase == string(corev1.PodSucceeded):
		return
	case phase == string(corev1.PodFailed): // Evicted ones stay around by the thousand.
		number, most = &t.failed, keepFailed
	case object.ConditionOf(u, string(corev1.PodReady)).Status == "True":
		number, most = &t.ready, keepReady
	}
	if *number++; *number <= most {
		t.kept = append(t.kept, diagnose.Slim(u))
	}
}

func (t *telling) Collected() ([]*unstructured.Unstructured, int) {
	return t.kept, max(0, t.unready-keepUnready)
}

// podsOf returns the Pods that an object controls, of those that were read.
func (v *view) podsOf(owner types.UID) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range v.pods {
		if controller := metav1.GetControllerOfNoCopy(pod); controller != nil && controller.UID == owner {
			out = append(out, pod)
		}
	}
	return out
}

// controlledBy keeps the objects that one of the owners controls.
func controlledBy(owners ...types.UID) func(*unstructured.Unstructured) bool {
	return func(u *unstructured.Unstructured) bool {
		controller := metav1.GetControllerOfNoCopy(u)
		return controller != nil && slices.Contains(owners, controller.UID)
	}
}

// chooseDetailed chooses a few Pods in each state.
func (v *view) chooseDetailed(pods []*corev1.Pod) {
	seen := map[string]int{}
	chosen := 0
	for _, p := range pods {
		if ready(p) || p.Status.Phase == corev1.PodFailed || chosen == detail {
			continue
		}
		state := stateOf(p)
		if seen[state]++; seen[state] <= 3 {
			chosen++
			v.detailed[nameOf(p)] = true
		}
	}
}

func nameOf(p *corev1.Pod) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
}

// stateOf tells Pods apart that wait for different things.
func stateOf(p *corev1.Pod) string {
	words := []string{string(p.Status.Phase), podCondition(p, corev1.PodScheduled).Reason, revision(p)}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Waiting != nil {
			words = append(words, s.Name, s.State.Waiting.Reason)
		}
	}
	return strings.Join(words, " ")
}

// unstarted reports whether a container waits for what has to be there before it is
// made.
func unstarted(p *corev1.Pod) bool {
	return waitsFor(p, "ContainerCreating", "PodInitializing", "CreateContainerConfigError") || len(p.Status.ContainerStatuses) == 0
}

func waitsFor(p *corev1.Pod, reasons ...string) bool {
	return slices.ContainsFunc(slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason)
	})
}

// ready reports whether the Pod's condition Ready is true.
func ready(p *corev1.Pod) bool {
	return podCondition(p, corev1.PodReady).Status == corev1.ConditionTrue
}

// podCondition returns the condition of a type; an empty one where there is none.
func podCondition(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return corev1.PodCondition{}
	}
	return p.Status.Conditions[i]
}

// of makes a cause one of the Pod.
func of(p *corev1.Pod, rank rank, c event.Cause) finding {
	return finding{Cause: c, rank: rank, who: name(ref(core("Pod"), p.Namespace, p.Name)), noun: "Pod"}
}

// started reports whether a container of the Pod runs, or ran.
func started(p *corev1.Pod) bool {
	all := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	return slices.ContainsFunc(all, func(s corev1.ContainerStatus) bool {
		return s.State.Running != nil || s.State.Terminated != nil || s.RestartCount > 0
	})
}

func revision(p *corev1.Pod) string { return p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] }
