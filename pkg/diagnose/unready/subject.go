package unready

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// leaving says that the object is being deleted, so that it will never get ready.
func (v *rules) leaving(u *unstructured.Unstructured) []rule.Finding {
	at := u.GetDeletionTimestamp()
	if at == nil {
		return nil
	}
	c := event.Cause{
		Code:      "Terminating",
		Message:   rule.Name(object.RefOf(u)) + " has been terminating" + v.Since(*at),
		Next:      rule.Get(object.RefOf(u)),
		Evidence:  []string{".metadata.deletionTimestamp is " + at.UTC().Format(time.RFC3339)},
		BlockedBy: object.RefOf(u),
	}
	if finalizers := u.GetFinalizers(); len(finalizers) > 0 {
		c.Evidence = append(c.Evidence, "finalizers: "+text.List(finalizers, 5))
	}
	return []rule.Finding{{Cause: c, Rank: rule.Root}}
}

// namespace says that the namespace does not exist, or is being deleted.
func (v *rules) namespace() []rule.Finding {
	ns := v.Object.GetNamespace()
	if ns == "" {
		return nil
	}
	r := rule.Ref(rule.Core("Namespace"), "", ns)
	u := v.Find(r)
	if u == nil || u.GetDeletionTimestamp() == nil {
		return nil
	}
	var evidence []string
	for _, c := range object.Conditions(u) {
		if c.Status == "True" {
			evidence = append(evidence, rule.Line(c))
		}
	}
	return []rule.Finding{{Rank: rule.Root, Cause: event.Cause{
		Code:      "NamespaceTerminating",
		Message:   "namespace " + ns + " has been terminating" + v.Since(*u.GetDeletionTimestamp()) + ": nothing new can be created in it",
		Evidence:  evidence,
		Next:      rule.Describe(r),
		BlockedBy: r,
	}}}
}

// silentKind reports whether the events of an object's kind add nothing.
func silentKind(u *unstructured.Unstructured) bool {
	gk := u.GroupVersionKind().GroupKind()
	return gk == rule.Definition().GroupKind() || gk == rule.APIService().GroupKind() || gk == rule.Core("Namespace").GroupKind()
}

// Complains reports whether an object itself says that something is wrong, so that its
// causes are worth finding at once. It is a hint, not a verdict: much can be wrong without
// the object saying so. Package readiness decides what counts as wrong.
func Complains(u *unstructured.Unstructured) bool {
	if slices.ContainsFunc(readiness.Read(u.Object), readiness.Statement.Complains) {
		return true
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, s := range diagnose.Items(u, "status", list) {
			reason, _, _ := unstructured.NestedString(s, "state", "waiting", "reason")
			if reason != "" && reason != "ContainerCreating" && reason != "PodInitializing" {
				return true
			}
		}
	}
	return false
}
