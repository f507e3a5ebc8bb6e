package stuck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// namespace traces each condition of a namespace to a cause, and explains its contents (edge case
// 59).
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

// Discovery usually fails because of an aggregated API that has nothing to do with the namespace
// (k/k#75788).
func (d *diagnosis) discovery(live *unstructured.Unstructured) []finding {
	failures := reported(live, corev1.NamespaceDeletionDiscoveryFailure, corev1.NamespaceDeletionGVParsingFailure)
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
	return []finding{stale(live, failures, "every APIService is available", "the namespace controller")}
}

// stale returns the finding for conditions that are outdated (k/k#72244).
func stale(live *unstructured.Unstructured, message []string, but, who string) finding {
	return finding{rank: rankWaiting, Cause: event.Cause{
		Code:     ConditionStale,
		Message:  "its conditions are out of date: " + but + "; " + who + " retries at growing intervals",
		Evidence: message,
		Next:     lookAgain(live),
	}}
}

// lookAgain returns a command that writes an annotation, because any write makes a controller
// examine the object at once.
func lookAgain(live *unstructured.Unstructured) string {
	return command.Kubectl("annotate") + " " + diagnose.On(object.RefOf(live)) + " --overwrite k8sconnect.io/look-again=\"$(date +%s)\""
}

func (d *diagnosis) staleContent(live *unstructured.Unstructured) []finding {
	message := reported(live, corev1.NamespaceContentRemaining, corev1.NamespaceFinalizersRemaining, corev1.NamespaceDeletionContentFailure)
	if len(message) == 0 {
		return nil
	}
	return []finding{stale(live, message, "nothing that can be listed is left in the namespace", "the namespace controller")}
}

func reported(live *unstructured.Unstructured, kinds ...corev1.NamespaceConditionType) []string {
	var message []string
	for _, kind := range kinds {
		if c := object.ConditionOf(live, string(kind)); c.Status == "True" {
			message = append(message, string(kind)+": "+text.Excerpt(c.Message))
		}
	}
	return message
}

// Finalizers in a namespace's spec are independent of those in its metadata.
func specFinalizers(live *unstructured.Unstructured) []finding {
	finalizers, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "finalizers")
	var found []finding
	for _, finalizer := range finalizers {
		if finalizer == string(corev1.FinalizerKubernetes) {
			continue
		}
		cause := event.Cause{
			Code:     NamespaceFinalizer,
			Message:  "the namespace has a finalizer in its spec that nothing has removed: " + text.Excerpt(finalizer),
			Evidence: []string{"it is in spec.finalizers, not metadata.finalizers: only a call to /finalize removes it"},
		}
		found = append(found, finding{rank: rankBroken, Cause: removing(cause, live, finalizer, "whatever the finalizer should clean up is left behind")})
	}
	return found
}

// undeleted explains why the server refuses to delete objects in a namespace.
func (d *diagnosis) undeleted(live *unstructured.Unstructured, c contents) []finding {
	failure := object.ConditionOf(live, string(corev1.NamespaceDeletionContentFailure))
	if failure.Status != "True" || len(c.present) == 0 {
		return nil
	}
	message := "NamespaceDeletionContentFailure: " + text.Excerpt(failure.Message)
	for _, u := range c.present {
		hooks := d.HooksFor(u, admissionv1.Delete)
		h, ok := quotedIn(hooks, failure.Message)
		if !ok {
			continue
		}
		unasked := h.Service == nil || strings.Contains(failure.Message, "failed calling webhook") || d.Backend(*h.Service).Dead
		if unasked && !strings.Contains(failure.Message, "admission webhook "+strconv.Quote(h.Name)+" denied the request") {
			return []finding{d.unreachable(h, message)}
		}
		return []finding{d.refusedBy(h, nil, "the deletion of objects in the namespace", message)}
	}
	first := object.RefOf(c.present[0])
	return []finding{{rank: rankHeld, Cause: event.Cause{
		Code:      DeletionRefused,
		Message:   "the namespace controller could not delete " + text.Count(len(c.present), "object") + " in the namespace",
		Evidence:  []string{message},
		Next:      command.Kubectl("delete") + " " + diagnose.On(first) + " --dry-run=server",
		BlockedBy: first,
	}}}
}

type contents struct {
	going, present []*unstructured.Unstructured
	sure           bool
}

func (c contents) total() int { return len(c.going) + len(c.present) }

func (c *contents) add(objects []*unstructured.Unstructured) {
	for _, u := range objects {
		if diagnose.Terminating(u) {
			c.going = append(c.going, u)
		} else {
			c.present = append(c.present, u)
		}
	}
}

func (d *diagnosis) contents(namespace string) contents {
	kinds, sure := d.Kinds()
	c := contents{sure: sure}
	for _, k := range kinds {
		if !k.Namespaced || !holds(k) {
			continue
		}
		objects, sure := d.Metadata(k.GVK, namespace)
		c.sure = c.sure && sure
		c.add(objects)
	}
	return c
}

// holds reports whether objects of a kind can delay a deletion. It excludes events, which come and
// go all the time.
func holds(k object.Kind) bool {
	return slices.Contains(k.Verbs, "list") && slices.Contains(k.Verbs, "delete") && k.Resource != "events"
}

// explained limits how many objects are explained; any others usually have the same causes.
const explained = 300

// causes returns the causes that block the contents, or that will block them once the deletion of
// the contents is requested. Each cause comes with the number of objects that it blocks.
func (c contents) causes(d *diagnosis) []finding {
	var all []finding
	held := map[rootKey][]string{}
	for _, u := range c.oldest() {
		for _, f := range d.causes(u) {
			if !diagnose.Terminating(u) && f.rank != rankAdmission && f.rank != rankBroken {
				continue
			}
			key := keyOf(f.Cause)
			if slices.Contains(d.looked, key.blockedBy) {
				continue // Both objects wait for each other.
			}
			if held[key] == nil {
				all = append(all, f)
			}
			held[key] = append(held[key], diagnose.Name(object.RefOf(u)))
		}
	}
	for i, f := range all {
		of := slices.Compact(held[keyOf(f.Cause)])
		all[i].Evidence = append([]string{"holds back " + text.Count(len(of), "object") + " in it: " + text.List(of, 3)}, f.Evidence...)
	}
	return all
}

// The objects that have been terminating longest come first, then those with finalizers.
func (c contents) oldest() []*unstructured.Unstructured {
	byAge := func(a, b *unstructured.Unstructured) int {
		return cmp.Or(diagnose.Since(a).Compare(diagnose.Since(b)), object.RefOf(a).Compare(object.RefOf(b)))
	}
	sorted := slices.SortedStableFunc(slices.Values(c.going), byAge)
	for _, u := range slices.SortedStableFunc(slices.Values(c.present), byAge) {
		if len(u.GetFinalizers()) > 0 {
			sorted = append(sorted, u)
		}
	}
	return sorted[:min(len(sorted), explained)]
}

func (c contents) remain(u *unstructured.Unstructured) finding {
	perKind := map[schema.GroupKind]int{}
	for _, o := range slices.Concat(c.going, c.present) {
		perKind[o.GroupVersionKind().GroupKind()]++
	}
	kinds := slices.SortedFunc(maps.Keys(perKind), func(a, b schema.GroupKind) int {
		return cmp.Or(cmp.Compare(perKind[b], perKind[a]), cmp.Compare(a.String(), b.String()))
	})
	var evidence []string
	for _, k := range kinds {
		evidence = append(evidence, strconv.Itoa(perKind[k])+" "+strings.ToLower(k.String()))
	}
	f := finding{rank: rankWaiting, Cause: event.Cause{
		Code:     ContentRemains,
		Message:  fmt.Sprintf("%s left in it, %d of them terminating", text.Count(c.total(), "object"), len(c.going)),
		Evidence: diagnose.Some(evidence, 8),
	}}
	if len(c.going) == 0 {
		f.Evidence = append(f.Evidence, "none of them is being deleted yet, but this may still happen")
	}
	if diagnose.IsKind(u, "apiextensions.k8s.io", "CustomResourceDefinition") {
		f.Code, f.Message = InstancesRemain, fmt.Sprintf("%s of the kind left, %d of them terminating", text.Count(c.total(), "object"), len(c.going))
	}
	return f
}

func (d *diagnosis) deadAPIs() (found []finding, sure bool) {
	services, sure := d.List(diagnose.KindOf("apiregistration.k8s.io/v1", "APIService"), "")
	for _, u := range services {
		if object.ConditionOf(u, "Available").Status == "True" || diagnose.Text(u, "spec", "service", "name") == "" {
			continue
		}
		ref := object.RefOf(u)
		b := d.Backend(diagnose.Service{Namespace: diagnose.Text(u, "spec", "service", "namespace"), Name: diagnose.Text(u, "spec", "service", "name")})
		f := finding{rank: rankAdmission, Cause: event.Cause{
			Code:      APIServiceUnavailable,
			Message:   "the aggregated API " + text.Excerpt(u.GetName()) + " does not answer, so it is unknown which of its objects the namespace contains",
			Evidence:  append([]string{"Available: " + message(object.ConditionOf(u, "Available"))}, b.Evidence...),
			Next:      command.Kubectl("delete") + " " + diagnose.On(ref),
			Risk:      "the API is gone until it is registered again; objects that its server stores for this namespace are not deleted",
			BlockedBy: ref,
		}}
		if b.Next != "" {
			f.Next, f.Risk = b.Next, ""
		}
		found = append(found, f)
	}
	return found, sure
}

// unreadable returns the finding for a malformed group or version.
func (d *diagnosis) unreadable(message []string) finding {
	f := finding{rank: rankAdmission, Cause: event.Cause{
		Code:     GroupVersionUnreadable,
		Message:  "an API in the cluster reports a malformed group and version, so it is unknown which of its objects the namespace contains",
		Evidence: message,
		Next:     command.Kubectl("get") + " apiservices.apiregistration.k8s.io",
		Risk:     "deleting the APIService at fault removes its API until it is registered again",
	}}
	services, _ := d.List(diagnose.KindOf("apiregistration.k8s.io/v1", "APIService"), "")
	var aggregated []string
	for _, u := range services {
		if diagnose.Text(u, "spec", "service", "name") != "" {
			aggregated = append(aggregated, "aggregated API "+text.Excerpt(u.GetName()))
		}
	}
	f.Evidence = append(f.Evidence, diagnose.Some(aggregated, 5)...)
	return f
}
