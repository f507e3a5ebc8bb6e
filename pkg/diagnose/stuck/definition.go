package stuck

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const definitions = "apiextensions.k8s.io"

// definition covers CustomResourceDefinitions, which wait for their instances (edge case
// 64).
func (d *diagnosis) definition(u *unstructured.Unstructured) []finding {
	if !diagnose.IsKind(u, definitions, "CustomResourceDefinition") {
		return nil
	}
	live := d.Whole(u)
	gvk, ok := instances(live)
	if !ok {
		return nil
	}
	c := contents{}
	objects, sure := d.Metadata(gvk, "")
	c.sure = sure
	c.add(objects)
	found := c.causes(d)
	t := object.ConditionOf(live, "Terminating")
	failed := t.Status == "True" && isCleanupFailure(t.Reason) && slices.Contains(live.GetFinalizers(), cleanup)
	switch {
	case c.total() > 0:
		left := c.remain(live)
		if t.Status == "True" {
			left.Evidence = append(left.Evidence, "Terminating: "+said(t))
		}
		if failed && len(c.present) > 0 {
			left.Message += "; the API server could not delete them, and retries with growing pauses"
			left.Next = lookAgain(live)
		}
		found = append(found, left)
	case failed && sure:
		found = append(found, stale(live, []string{"Terminating: " + said(t)}, "no object of the kind is left, and they can be listed", "the API server"))
	}
	return found
}

// cleanup is the finalizer with which the API server waits for the instances.
const cleanup = "customresourcecleanup.apiextensions.k8s.io"

// isCleanupFailure reports whether this is a reason that the API server gives when it
// could not remove the instances: it failed to list or delete them, or they were not gone
// in time. Often it was just setting up its storage for the kind again. It retries within
// a quarter of an hour, and at once when the definition is written.
func isCleanupFailure(reason string) bool {
	return reason == "InstanceDeletionFailed" || reason == "InstanceDeletionCheck"
}

// instances returns the kind that a definition defines, at its storage version: reading
// that needs no conversion.
func instances(crd *unstructured.Unstructured) (schema.GroupVersionKind, bool) {
	gvk := schema.GroupVersionKind{Group: diagnose.Text(crd, "spec", "group"), Kind: diagnose.Text(crd, "spec", "names", "kind")}
	for _, v := range diagnose.Items(crd, "spec", "versions") {
		version, _ := v["name"].(string)
		if v["served"] == true && (v["storage"] == true || gvk.Version == "") {
			gvk.Version = version
		}
	}
	return gvk, gvk.Version != ""
}

// conversion covers the webhook that converts objects of a kind between its versions: while
// it is down, they can neither be listed nor updated (k/k#71925).
func (d *diagnosis) conversion(u *unstructured.Unstructured) []finding {
	crd := u
	if !diagnose.IsKind(u, definitions, "CustomResourceDefinition") {
		if len(u.GetFinalizers()) == 0 || !strings.Contains(u.GroupVersionKind().Group, ".") {
			return nil
		}
		kind, ok := d.Kind(u)
		if !ok {
			return nil
		}
		crd, _ = d.Get(diagnose.KindOf(definitions+"/v1", "CustomResourceDefinition"), "", kind.Resource+"."+kind.GVK.Group)
	} else {
		crd = d.Whole(u)
	}
	if crd == nil || diagnose.Text(crd, "spec", "conversion", "strategy") != "Webhook" {
		return nil
	}
	return d.converter(crd)
}

// converter covers a conversion webhook that does not answer.
func (d *diagnosis) converter(crd *unstructured.Unstructured) []finding {
	path := []string{"spec", "conversion", "webhook", "clientConfig"}
	at := diagnose.Text(crd, append(path, "url")...)
	var b diagnose.Backend
	if at == "" {
		s := diagnose.Service{Namespace: diagnose.Text(crd, append(path, "service", "namespace")...), Name: diagnose.Text(crd, append(path, "service", "name")...)}
		b = d.Backend(s)
		at = "service " + s.Name + " -n " + s.Namespace
	}
	failure := d.unlisted(crd)
	if terminatingFailure := object.ConditionOf(crd, "Terminating"); terminatingFailure.Reason == "InstanceDeletionFailed" && ofConversion(terminatingFailure.Message) {
		failure = append(failure, "Terminating: "+said(terminatingFailure))
	}
	if !b.Dead && len(failure) == 0 {
		return nil
	}
	f := finding{rank: rankAdmission, Cause: event.Cause{
		Code:     ConversionWebhookDown,
		Message:  "the webhook that converts " + text.Excerpt(crd.GetName()) + " between its versions does not answer, so its objects can neither be listed nor changed",
		Evidence: append(append([]string{"it is called at " + text.Excerpt(at)}, b.Evidence...), failure...),
		Next: command.Kubectl("patch") + " " + diagnose.On(object.RefOf(crd)) + " --type=merge -p " +
			text.ShellQuote(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`),
		Risk:      "without conversion, objects are served with the fields that they were stored with, and fields that another version names differently are lost when they are written",
		BlockedBy: object.RefOf(crd),
	}}
	if b.Next != "" {
		f.Next, f.Risk = b.Next, ""
	}
	return []finding{f}
}

// unlisted returns the error of listing the instances, if it is about conversion and not
// about the server.
func (d *diagnosis) unlisted(crd *unstructured.Unstructured) []string {
	gvk, _ := instances(crd)
	var said []string
	for q, err := range d.Unanswered() {
		if q.GVK.GroupKind() == gvk.GroupKind() && q.Verb != diagnose.Replay && diagnose.Troubled(err) && ofConversion(err.Error()) {
			said = append(said, q.String()+": "+text.Excerpt(err.Error()))
			d.Excuse(q)
		}
	}
	slices.Sort(said)
	return diagnose.Some(said, 2)
}

// ofConversion reports whether the server complains about a conversion webhook: there are
// other reasons why instances cannot be listed or deleted.
func ofConversion(words string) bool { return strings.Contains(words, "conversion webhook") }
