package stuck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// foreground covers objects that go after their dependents (edge case 62). They wait only
// for dependents with blockOwnerDeletion.
func (d *diagnosis) foreground(u *unstructured.Unstructured) []finding {
	blocking, sure := d.dependents(u, u.GetNamespace(), blocks)
	if len(blocking) > 0 {
		return d.heldBy(u, blocking)
	}
	if !sure {
		return nil
	}
	if u.GetNamespace() != "" && d.Now.Sub(diagnose.Since(u)) > foreignAfter {
		foreign, _ := d.dependents(u, "", blocks)
		if len(foreign) > 0 {
			return []finding{ownerElsewhere(u, foreign[0])}
		}
	}
	return d.builtIn(u, "foregroundDeletion", "the garbage collector to notice that its dependents are gone")
}

// foreignAfter is how long an object has to be waiting before dependents that were not
// found are searched for in the whole cluster.
const foreignAfter = 5 * time.Second

func blocks(o metav1.OwnerReference) bool {
	return o.BlockOwnerDeletion != nil && *o.BlockOwnerDeletion
}

// orphan covers objects that go after their dependents were released.
func (d *diagnosis) orphan(u *unstructured.Unstructured) []finding {
	found := d.builtIn(u, "orphan", "the garbage collector to release its dependents")
	dependents, _ := d.dependents(u, u.GetNamespace(), func(metav1.OwnerReference) bool { return true })
	if len(dependents) > 0 && found[0].Code == BuiltInFinalizer {
		first := object.RefOf(dependents[0])
		found[0].Code, found[0].BlockedBy = OrphaningDependents, first
		found[0].Evidence = append(found[0].Evidence, text.Count(len(dependents), "dependent")+" still name it as their owner, such as "+diagnose.Name(first))
		found[0].Next = command.Kubectl("get") + " " + diagnose.On(first) + " -o jsonpath='{.metadata.ownerReferences}'"
		// Releasing it is an update too, which may be refused.
		found = append(d.admission(dependents[0], releases), found...)
	}
	return found
}

// dependents returns the objects that name u as their owner.
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

// heldBy covers dependents that have to go first. It returns their own causes, and one
// that says that the object waits for them.
func (d *diagnosis) heldBy(u *unstructured.Unstructured, dependents []*unstructured.Unstructured) []finding {
	var c contents
	c.add(dependents)
	found := c.causes(d)
	first := append(slices.Clone(c.present), c.going...)[0]
	ref := object.RefOf(first)
	f := finding{rank: rankHeld, Cause: event.Cause{
		Code:      ForegroundDependents,
		Message:   "it goes away after its dependents, and " + text.Count(len(dependents), "dependent") + " with blockOwnerDeletion is left: " + diagnose.Name(ref),
		Next:      command.Kubectl("k8sconnect", "stuck") + " " + diagnose.On(ref),
		BlockedBy: ref,
	}}
	if len(dependents) > 1 {
		f.Message = "it goes away after its dependents, and " + text.Count(len(dependents), "dependent") + " with blockOwnerDeletion are left, such as " + diagnose.Name(ref)
	}
	if diagnose.Terminating(first) {
		f.Evidence = []string{diagnose.Name(ref) + " has been terminating for " + diagnose.Ago(d.Now.Sub(diagnose.Since(first)))}
		if len(found) > 0 {
			f.rank = rankWaiting // Its root cause is found.
		}
		return append(found, f)
	}
	f.Evidence = []string{diagnose.Name(ref) + " is not being deleted"}
	f.Next, f.Risk = command.Kubectl("k8sconnect", "delete")+" "+diagnose.On(ref), "deletes "+diagnose.Name(ref)
	for _, o := range first.GetOwnerReferences() {
		if o.UID != u.GetUID() {
			f.Evidence = append(f.Evidence, "it has another owner, "+text.Excerpt(strings.ToLower(o.Kind)+"/"+o.Name)+", so the garbage collector only removes this one from its owners")
		}
	}
	return append(found, f)
}

// ownerElsewhere says that a dependent is in another namespace than its owner, which makes
// its owner reference invalid (event OwnerRefInvalidNamespace).
func ownerElsewhere(u, dependent *unstructured.Unstructured) finding {
	ref := object.RefOf(dependent)
	lost := "if the reference stays, the garbage collector deletes " + diagnose.Name(ref) + ", whose owner it does not find"
	if diagnose.Terminating(dependent) {
		lost = "none: " + diagnose.Name(ref) + " is being deleted already, because the garbage collector did not find its owner"
	}
	return finding{rank: rankHeld, Cause: event.Cause{
		Code:      OwnerInOtherNamespace,
		Message:   "a dependent in another namespace names it as owner, which is not allowed: " + diagnose.Name(ref),
		Evidence:  []string{"metadata.ownerReferences of " + diagnose.Name(ref) + " names " + text.Excerpt(u.GetName()) + " by its UID, but owners are looked for in the dependent's own namespace"},
		Next:      disowning(dependent, u.GetUID()),
		Risk:      lost,
		BlockedBy: ref,
	}}
}

// disowning returns the command that removes one owner from an object, provided that it is
// still at the position where it was seen.
func disowning(u *unstructured.Unstructured, owner types.UID) string {
	i := slices.IndexFunc(u.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner })
	patch := fmt.Sprintf(`[{"op":"test","path":"/metadata/ownerReferences/%[1]d/uid","value":%[2]q},{"op":"remove","path":"/metadata/ownerReferences/%[1]d"}]`, i, string(owner))
	return command.Kubectl("patch") + " " + diagnose.On(object.RefOf(u)) + " --type=json -p " + text.ShellQuote(patch)
}
