package stuck

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const definitions = "apiextensions.k8s.io"

// definition is about CustomResourceDefinitions, which wait for their instances
// (edge case 64).
func (d *diagnosis) definition(u *unstructured.Unstructured) []finding {
	if !isKind(u, definitions, "CustomResourceDefinition") {
		return nil
	}
	live := d.whole(u)
	gvk, ok := instances(live)
	if !ok {
		return nil
	}
	c := contents{}
	objects, sure := d.metadata(gvk, "")
	c.sure = sure
	c.add(objects)
	found := c.causes(d)
	if c.total() > 0 {
		left := c.remain(live)
		if t := conditionOf(live, "Terminating"); t.status == "True" {
			left.Evidence = append(left.Evidence, "Terminating: "+t.String())
		}
		found = append(found, left)
	}
	return found
}

// instances is the kind that a definition defines, at the version at which they are
// stored: reading that needs no conversion.
func instances(crd *unstructured.Unstructured) (schema.GroupVersionKind, bool) {
	gvk := schema.GroupVersionKind{Group: text(crd, "spec", "group"), Kind: text(crd, "spec", "names", "kind")}
	for _, v := range items(crd, "spec", "versions") {
		version, _ := v["name"].(string)
		if v["served"] == true && (v["storage"] == true || gvk.Version == "") {
			gvk.Version = version
		}
	}
	return gvk, gvk.Version != ""
}

// conversion is about the webhook that converts objects of a kind between its
// versions: while it is down, they can neither be listed nor updated (k/k#71925).
func (d *diagnosis) conversion(u *unstructured.Unstructured) []finding {
	crd := u
	if !isKind(u, definitions, "CustomResourceDefinition") {
		if len(u.GetFinalizers()) == 0 || !strings.Contains(u.GroupVersionKind().Group, ".") {
			return nil
		}
		kind, ok := d.kind(u)
		if !ok {
			return nil
		}
		crd, _ = d.get(kindOf(definitions+"/v1", "CustomResourceDefinition"), "", kind.Resource+"."+kind.GVK.Group)
	} else {
		crd = d.whole(u)
	}
	if crd == nil || text(crd, "spec", "conversion", "strategy") != "Webhook" {
		return nil
	}
	return d.converter(crd)
}

// converter tells whether a conversion webhook answers.
func (d *diagnosis) converter(crd *unstructured.Unstructured) []finding {
	path := []string{"spec", "conversion", "webhook", "clientConfig"}
	at := text(crd, append(path, "url")...)
	var b backend
	if at == "" {
		s := service{namespace: text(crd, append(path, "service", "namespace")...), name: text(crd, append(path, "service", "name")...)}
		b = d.backend(s)
		at = "service " + s.name + " -n " + s.namespace
	}
	failure := d.unlisted(crd)
	if terminatingFailure := conditionOf(crd, "Terminating"); terminatingFailure.reason == "InstanceDeletionFailed" && ofConversion(terminatingFailure.message) {
		failure = append(failure, "Terminating: "+terminatingFailure.String())
	}
	if !b.dead && len(failure) == 0 {
		return nil
	}
	f := finding{rank: rankAdmission, Cause: event.Cause{
		Code:     ConversionWebhookDown,
		Message:  "the webhook that converts " + quote(crd.GetName()) + " between its versions does not answer, so its objects can neither be listed nor changed",
		Evidence: append(append([]string{"it is called at " + quote(at)}, b.evidence...), failure...),
		Next: command.Kubectl("patch") + " " + on(object.RefOf(crd)) + " --type=merge -p " +
			word(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`),
		Risk:      "without conversion, objects are served with the fields that they were stored with, and what another version calls differently is lost when they are written",
		BlockedBy: object.RefOf(crd),
	}}
	if b.next != "" {
		f.Next, f.Risk = b.next, ""
	}
	return []finding{f}
}

// unlisted is the error with which the instances could not be listed. It is about
// the conversion then, not about the server.
func (d *diagnosis) unlisted(crd *unstructured.Unstructured) []string {
	gvk, _ := instances(crd)
	var said []string
	for q, err := range d.blind {
		if q.gvk.GroupKind() == gvk.GroupKind() && q.verb != replay && troubled(err) && ofConversion(err.Error()) {
			said = append(said, q.String()+": "+quote(err.Error()))
			d.excused[q] = true
		}
	}
	for q := range d.excused {
		delete(d.blind, q)
	}
	slices.Sort(said)
	return some(said, 2)
}

// ofConversion tells whether it is a conversion webhook that the server complains
// of: there are other reasons why instances can not be listed or deleted.
func ofConversion(words string) bool { return strings.Contains(words, "conversion webhook") }
