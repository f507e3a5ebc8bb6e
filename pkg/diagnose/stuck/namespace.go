package stuck

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// namespace is about namespaces: what their conditions say, each traced to its
// root, and what is left in them (edge case 59).
func (d *diagnosis) namespace(u *unstructured.Unstructured) []finding {
	if !isKind(u, "", "Namespace") {
		return nil
	}
	live := d.whole(u)
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
	if len(items(live, "status", "conditions")) == 0 && d.now.Sub(since(live)) > time.Minute {
		found = append(found, d.controllerManager()...)
	}
	return found
}

// discovery is about conditions that say that the namespace's kinds can not be
// found out: mostly an aggregated API whose server is down, and mostly one that has
// nothing to do with the namespace (k/k#75788).
func (d *diagnosis) discovery(live *unstructured.Unstructured) []finding {
	var failures []string
	for _, kind := range []corev1.NamespaceConditionType{corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionGVParsingFailure} {
		if c := conditionOf(live, string(kind)); c.status == "True" {
			failures = append(failures, string(kind)+": "+quote(c.message))
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
	case conditionOf(live, string(corev1.NamespaceDeletionGVParsingFailure)).status == "True":
		return []finding{d.unreadable(failures)}
	}
	return []finding{stale(live, failures, "every APIService is available by now")}
}

// stale: a condition says what is not so any more (k/k#72244).
func stale(live *unstructured.Unstructured, said []string, but string) finding {
	return finding{rank: rankWaiting, Cause: event.Cause{
		Code:     ConditionStale,
		Message:  "what its conditions say is over: " + but + "; the namespace controller tries again by itself, the later the oftener it failed",
		Evidence: said,
		Next:     command.Kubectl("annotate") + " " + on(object.RefOf(live)) + " --overwrite k8sconnect.io/look-again=\"$(date +%s)\"",
	}}
}

func (d *diagnosis) staleContent(live *unstructured.Unstructured) []finding {
	var said []string
	for _, kind := range []corev1.NamespaceConditionType{
		corev1.NamespaceContentRemaining, corev1.NamespaceFinalizersRemaining, corev1.NamespaceDeletionContentFailure,
	} {
		if c := conditionOf(live, string(kind)); c.status == "True" {
			said = append(said, string(kind)+": "+quote(c.message))
		}
	}
	if len(said) == 0 {
		return nil
	}
	return []finding{stale(live, said, "nothing that can be listed is left in the namespace")}
}

// specFinalizers is about finalizers in the spec of a namespace, which have nothing
// to do with those in its metadata, and are removed by /finalize alone.
func specFinalizers(live *unstructured.Unstructured) []finding {
	finalizers, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "finalizers")
	others := slices.DeleteFunc(finalizers, func(f string) bool { return f == string(corev1.FinalizerKubernetes) })
	if len(others) == 0 {
		return nil
	}
	all, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "finalizers")
	path := "/api/v1/namespaces/" + live.GetName()
	return []finding{{rank: rankBroken, Cause: event.Cause{
		Code:     NamespaceFinalizer,
		Message:  "the namespace has finalizers in its spec, of somebody who does not remove them: " + quote(strings.Join(others, ", ")),
		Evidence: []string{"spec.finalizers, not metadata.finalizers: only a call of /finalize removes them"},
		Next: command.Kubectl("get") + " --raw " + word(path) + " | sed " + word(replaceList(all)) +
			" | " + command.Kubectl("replace") + " --raw " + word(path+"/finalize") + " -f -",
		Risk: "what those finalizers were to clean up stays behind",
	}}}
}

// replaceList is what makes sed leave Kubernetes' own finalizer in the spec of a
// namespace, if it holds these and no others. All else stays as it is: what is sent
// to /finalize replaces the object, its metadata and the finalizers there included.
func replaceList(finalizers []string) string {
	const field = `"spec":{"finalizers":`
	list, _ := json.Marshal(finalizers) // Strings can always be marshalled.
	escaped := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `.`, `\.`, `*`, `\*`, `|`, `\|`).Replace(string(list))
	return "s|" + field + escaped + "|" + field + `["kubernetes"]|`
}

// undeleted is about what the namespace controller could not even ask to go away:
// something refuses its deletion.
func (d *diagnosis) undeleted(live *unstructured.Unstructured, c contents) []finding {
	failure := conditionOf(live, string(corev1.NamespaceDeletionContentFailure))
	if failure.status != "True" || len(c.present) == 0 {
		return nil
	}
	said := "NamespaceDeletionContentFailure: " + quote(failure.message)
	for _, u := range c.present {
		hooks := d.hooksFor(u, admissionv1.Delete)
		h, ok := quotedIn(hooks, failure.message)
		if !ok {
			continue
		}
		unasked := h.service == nil || strings.Contains(failure.message, "failed calling webhook") || d.backend(*h.service).dead
		if unasked && !h.denied(failure.message) {
			return []finding{d.unreachable(h, said)}
		}
		return []finding{d.refusedBy(h, nil, "the deletion of what is in the namespace", said)}
	}
	first := object.RefOf(c.present[0])
	return []finding{{rank: rankHeld, Cause: event.Cause{
		Code:      DeletionRefused,
		Message:   "the namespace controller could not delete " + count(len(c.present), "object") + " in it",
		Evidence:  []string{said},
		Next:      command.Kubectl("delete") + " " + on(first) + " --dry-run=server",
		BlockedBy: first,
	}}}
}
