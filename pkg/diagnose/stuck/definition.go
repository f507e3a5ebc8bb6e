package stuck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const definitions = "apiextensions.k8s.io"

// A CRD cannot go away while it has instances (edge case 64).
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
	// The API server retries within a quarter of an hour, or immediately when the CRD is written.
	failed := t.Status == "True" && (t.Reason == "InstanceDeletionFailed" || t.Reason == "InstanceDeletionCheck") && slices.Contains(live.GetFinalizers(), cleanup)
	switch {
	case c.total() > 0:
		left := c.remain(live)
		if t.Status == "True" {
			left.Evidence = append(left.Evidence, "Terminating: "+message(t))
		}
		if failed && len(c.present) > 0 {
			left.Message += "; the API server could not delete them, and retries at growing intervals"
			left.Next = lookAgain(live)
		}
		found = append(found, left)
	case failed && sure:
		found = append(found, stale(live, []string{"Terminating: " + message(t)}, "no object of the kind is left", "the API server"))
	}
	return found
}

// The API server keeps a CRD with this finalizer until it has deleted the instances.
const cleanup = "customresourcecleanup.apiextensions.k8s.io"

// instances returns the kind of a CRD's instances at a served version. It prefers the storage
// version, which needs no conversion.
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

// Without the conversion webhook, objects can be neither listed nor updated (k/k#71925).
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
		failure = append(failure, "Terminating: "+message(terminatingFailure))
	}
	if !b.Dead && len(failure) == 0 {
		return nil
	}
	f := finding{rank: rankAdmission, Cause: event.Cause{
		Code:     ConversionWebhookDown,
		Message:  "the webhook that converts " + text.Excerpt(crd.GetName()) + " between its versions does not answer, so its objects can be neither listed nor changed",
		Evidence: append(append([]string{"it is called at " + text.Excerpt(at)}, b.Evidence...), failure...),
		Next: command.Kubectl("patch") + " " + diagnose.On(object.RefOf(crd)) + " --type=merge -p " +
			text.ShellQuote(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`),
		Risk:      "without conversion, objects are served as stored, and a write drops fields whose names differ between the versions",
		BlockedBy: object.RefOf(crd),
	}}
	if b.Next != "" {
		f.Next, f.Risk = b.Next, ""
	}
	return []finding{f}
}

func (d *diagnosis) unlisted(crd *unstructured.Unstructured) []string {
	gvk, _ := instances(crd)
	var message []string
	for q, err := range d.Unanswered() {
		if q.GVK.GroupKind() == gvk.GroupKind() && q.Verb != diagnose.Replay && diagnose.Troubled(err) && ofConversion(err.Error()) {
			message = append(message, q.String()+": "+text.Excerpt(err.Error()))
			d.Excuse(q)
		}
	}
	slices.Sort(message)
	return diagnose.Some(message, 2)
}

func ofConversion(words string) bool { return strings.Contains(words, "conversion webhook") }

// foreground explains an object that the server deletes only after its dependents (edge case 62).
// Only dependents with blockOwnerDeletion count.
func (d *diagnosis) foreground(u *unstructured.Unstructured) []finding {
	blocking, sure := d.dependents(u, u.GetNamespace(), blocks)
	if len(blocking) > 0 {
		return d.heldBy(u, blocking)
	}
	if !sure {
		return nil
	}
	if u.GetNamespace() != "" && d.Now.Sub(diagnose.Since(u)) > 5*time.Second { // Searching the whole cluster is expensive.
		foreign, _ := d.dependents(u, "", blocks)
		if len(foreign) > 0 {
			return []finding{ownerElsewhere(u, foreign[0])}
		}
	}
	return d.builtIn(u, "foregroundDeletion", "the garbage collector to notice that the dependents are gone")
}

func blocks(o metav1.OwnerReference) bool {
	return o.BlockOwnerDeletion != nil && *o.BlockOwnerDeletion
}

func (d *diagnosis) orphan(u *unstructured.Unstructured) []finding {
	found := d.builtIn(u, "orphan", "the garbage collector to release the dependents")
	dependents, _ := d.dependents(u, u.GetNamespace(), func(metav1.OwnerReference) bool { return true })
	if len(dependents) > 0 && found[0].Code == BuiltInFinalizer {
		first := object.RefOf(dependents[0])
		found[0].Code, found[0].BlockedBy = OrphaningDependents, first
		found[0].Evidence = append(found[0].Evidence, text.Count(len(dependents), "dependent")+" still linked to it by an owner reference, such as "+diagnose.Name(first))
		found[0].Next = command.Kubectl("get") + " " + diagnose.On(first) + " -o jsonpath='{.metadata.ownerReferences}'"
		// Releasing a dependent is an update, which may be refused too.
		found = append(d.admission(dependents[0], releases), found...)
	}
	return found
}

// dependents returns the objects that have an owner reference to u. An owner reference counts only
// if which(reference) is true. The second result is false if some kinds could not be read.
func (d *diagnosis) dependents(u *unstructured.Unstructured, namespace string, which func(metav1.OwnerReference) bool) ([]*unstructured.Unstructured, bool) {
	kinds, sure := d.Kinds()
	var found []*unstructured.Unstructured
	for _, k := range kinds {
		if !holds(k) || u.GetNamespace() != "" && namespace != "" && !k.Namespaced {
			continue
		}
		objects, ok := d.Metadata(k.GVK, namespace)
		sure = sure && ok
		for _, o := range objects {
			if slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == u.GetUID() && which(r) }) {
				found = append(found, o)
			}
		}
	}
	return found, sure
}

// heldBy returns the findings for dependents that have to be deleted first.
func (d *diagnosis) heldBy(u *unstructured.Unstructured, dependents []*unstructured.Unstructured) []finding {
	var c contents
	c.add(dependents)
	found := c.causes(d)
	first := append(slices.Clone(c.present), c.going...)[0]
	ref := object.RefOf(first)
	f := finding{rank: rankHeld, Cause: event.Cause{
		Code:      ForegroundDependents,
		Message:   "it can go away only after its dependents, and " + text.Count(len(dependents), "dependent") + " with blockOwnerDeletion is left: " + diagnose.Name(ref),
		Next:      command.Kubectl("k8sconnect", "stuck") + " " + diagnose.On(ref),
		BlockedBy: ref,
	}}
	if len(dependents) > 1 {
		f.Message = "it can go away only after its dependents, and " + text.Count(len(dependents), "dependent") + " with blockOwnerDeletion are left, such as " + diagnose.Name(ref)
	}
	if diagnose.Terminating(first) {
		f.Evidence = []string{diagnose.Name(ref) + " has been terminating for " + diagnose.Ago(d.Now.Sub(diagnose.Since(first)))}
		if len(found) > 0 {
			f.rank = rankWaiting // A root cause was found.
		}
		return append(found, f)
	}
	f.Evidence = []string{diagnose.Name(ref) + " is not being deleted"}
	f.Next, f.Risk = command.Kubectl("k8sconnect", "delete")+" "+diagnose.On(ref), "deletes "+diagnose.Name(ref)
	for _, o := range first.GetOwnerReferences() {
		if o.UID != u.GetUID() {
			f.Evidence = append(f.Evidence, "it has another owner, "+text.Excerpt(strings.ToLower(o.Kind)+"/"+o.Name)+", so the garbage collector removes only the reference to this object")
		}
	}
	return append(found, f)
}

// ownerElsewhere returns the finding for a dependent whose owner is in a different namespace (event
// OwnerRefInvalidNamespace).
func ownerElsewhere(u, dependent *unstructured.Unstructured) finding {
	ref := object.RefOf(dependent)
	lost := "if the reference stays, the garbage collector will delete " + diagnose.Name(ref) + ", because it cannot find the owner"
	if diagnose.Terminating(dependent) {
		lost = "none: " + diagnose.Name(ref) + " is being deleted already, because the garbage collector did not find its owner"
	}
	return finding{rank: rankHeld, Cause: event.Cause{
		Code:      OwnerInOtherNamespace,
		Message:   "a dependent in another namespace names this object as its owner, which is not allowed: " + diagnose.Name(ref),
		Evidence:  []string{"metadata.ownerReferences of " + diagnose.Name(ref) + " names " + text.Excerpt(u.GetName()) + " by its UID, but an owner must be in the dependent's own namespace"},
		Next:      disowning(dependent, u.GetUID()),
		Risk:      lost,
		BlockedBy: ref,
	}}
}

func disowning(u *unstructured.Unstructured, owner types.UID) string {
	i := slices.IndexFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner })
	patch := fmt.Sprintf(`[{"op":"test","path":"/metadata/ownerReferences/%[1]d/uid","value":%[2]q},{"op":"remove","path":"/metadata/ownerReferences/%[1]d"}]`, i, string(owner))
	return command.Kubectl("patch") + " " + diagnose.On(object.RefOf(u)) + " --type=json -p " + text.ShellQuote(patch)
}

func (d *diagnosis) finalizers(u *unstructured.Unstructured) []finding {
	var found []finding
	for _, finalizer := range u.GetFinalizers() {
		refused := d.admission(u, finalizer)
		whose := d.whose(u, finalizer)
		if len(refused) > 0 { // The controller is not at fault: its update is refused.
			whose = slices.DeleteFunc(whose, func(f finding) bool { return f.rank == rankSilent || f.rank == rankWaiting })
		}
		found = append(append(found, refused...), whose...)
	}
	return found
}

func (d *diagnosis) whose(u *unstructured.Unstructured, finalizer string) []finding {
	switch finalizer {
	case "foregroundDeletion":
		return d.foreground(u)
	case "orphan":
		return d.orphan(u)
	case "kubernetes.io/pvc-protection":
		return d.claim(u, finalizer)
	case "kubernetes.io/pv-protection":
		return d.volume(u, finalizer)
	case "service.kubernetes.io/load-balancer-cleanup":
		return d.loadBalancer(u, finalizer)
	case cleanup:
		return nil // The rule d.definition covers it.
	}
	if waits, ok := builtIn(finalizer); ok {
		return d.builtIn(u, finalizer, waits)
	}
	return d.custom(u, finalizer)
}
