package stuck

import (
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// namespace covers namespaces: what their conditions say, each traced to its root, and
// what is left in them (edge case 59).
func (d *diagnosis) namespace(u *unstructured.Unstructured) []finding {
	if !diagnose.IsKind(u, "", "Namespace") {
		return nil
	}
	live := d.Whole(u)
	if live == nil {
		live = u
	}
	found := d.discovery(live)
	found = append(found, specFinalizers(live)...)
	c := d.contents(live.GetName())
	found = append(found, c.causes(d)...)
	found = append(found, d.undeleted(live, c)...)
	if c.total() > 0 {
		found = append(found, c.remain(live))
	} else if c.sure {
		found = append(found, d.staleContent(live)...)
	}
	if len(diagnose.Items(live, "status", "conditions")) == 0 && d.Now.Sub(diagnose.Since(live)) > time.Minute {
		found = append(found, d.controllerManager()...)
	}
	return found
}

// discovery covers conditions that say that the namespace's kinds cannot be discovered:
// mostly an aggregated API whose server is down, and mostly one that has nothing to do
// with the namespace (k/k#75788).
func (d *diagnosis) discovery(live *unstructured.Unstructured) []finding {
	var failures []string
	for _, kind := range []corev1.NamespaceConditionType{corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionGVParsingFailure} {
		if c := object.ConditionOf(live, string(kind)); c.Status == "True" {
			failures = append(failures, string(kind)+": "+text.Excerpt(c.Message))
		}
	}
	if len(failures) == 0 {
		return nil
	}
	found, sure := d.deadAPIs()
	for i := range found {
		found[i].Evidence = append(found[i].Evidence, failures...)
	}
	switch {
	case len(found) > 0 || !sure:
		return found
	case object.ConditionOf(live, string(corev1.NamespaceDeletionGVParsingFailure)).Status == "True":
		return []finding{d.unreadable(failures)}
	}
	return []finding{stale(live, failures, "every APIService is available by now", "the namespace controller")}
}

// stale says that a condition states what is no longer true (k/k#72244).
func stale(live *unstructured.Unstructured, said []string, but, who string) finding {
	return finding{rank: rankWaiting, Cause: event.Cause{
		Code:     ConditionStale,
		Message:  "its conditions are out of date: " + but + "; " + who + " retries with growing pauses",
		Evidence: said,
		Next:     lookAgain(live),
	}}
}

// lookAgain returns a command that makes a controller look at an object at once: any write
// does, and this one changes nothing that matters.
func lookAgain(live *unstructured.Unstructured) string {
	return command.Kubectl("annotate") + " " + diagnose.On(object.RefOf(live)) + " --overwrite k8sconnect.io/look-again=\"$(date +%s)\""
}

func (d *diagnosis) staleContent(live *unstructured.Unstructured) []finding {
	var said []string
	for _, kind := range []corev1.NamespaceConditionType{
		corev1.NamespaceContentRemaining, corev1.NamespaceFinalizersRemaining, corev1.NamespaceDeletionContentFailure,
	} {
		if c := object.ConditionOf(live, string(kind)); c.Status == "True" {
			said = append(said, string(kind)+": "+text.Excerpt(c.Message))
		}
	}
	if len(said) == 0 {
		return nil
	}
	return []finding{stale(live, said, "nothing that can be listed is left in the namespace", "the namespace controller")}
}

// specFinalizers covers finalizers in the spec of a namespace. They are independent of
// those in its metadata.
func specFinalizers(live *unstructured.Unstructured) []finding {
	finalizers, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "finalizers")
	var found []finding
	for _, finalizer := range finalizers {
		if finalizer == string(corev1.FinalizerKubernetes) {
			continue
		}
		found = append(found, finding{rank: rankBroken, Cause: event.Cause{
			Code:     NamespaceFinalizer,
			Message:  "the namespace has a finalizer in its spec that its owner does not remove: " + text.Excerpt(finalizer),
			Evidence: []string{"spec.finalizers, not metadata.finalizers: only a call to /finalize removes it"},
			Next:     removal(object.RefOf(live), finalizer),
			Risk:     "what that finalizer is there to clean up stays behind",
		}})
	}
	return found
}

// undeleted covers objects whose deletion the namespace controller could not even request,
// because something refuses it.
func (d *diagnosis) undeleted(live *unstructured.Unstructured, c contents) []finding {
	failure := object.ConditionOf(live, string(corev1.NamespaceDeletionContentFailure))
	if failure.Status != "True" || len(c.present) == 0 {
		return nil
	}
	said := "NamespaceDeletionContentFailure: " + text.Excerpt(failure.Message)
	for _, u := range c.present {
		hooks := d.HooksFor(u, admissionv1.Delete)
		h, ok := quotedIn(hooks, failure.Message)
		if !ok {
			continue
		}
		unasked := h.Service == nil || strings.Contains(failure.Message, "failed calling webhook") || d.Backend(*h.Service).Dead
		if unasked && !deniedBy(h, failure.Message) {
			return []finding{d.unreachable(h, said)}
		}
		return []finding{d.refusedBy(h, nil, "the deletion of what is in the namespace", said)}
	}
	first := object.RefOf(c.present[0])
	return []finding{{rank: rankHeld, Cause: event.Cause{
		Code:      DeletionRefused,
		Message:   "the namespace controller could not delete " + text.Count(len(c.present), "object") + " in it",
		Evidence:  []string{said},
		Next:      command.Kubectl("delete") + " " + diagnose.On(first) + " --dry-run=server",
		BlockedBy: first,
	}}}
}
