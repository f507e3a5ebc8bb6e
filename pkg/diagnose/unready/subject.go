package unready

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// leaving says that the object is being deleted: it will not get ready any more.
func (v *view) leaving(u *unstructured.Unstructured) []finding {
	at := u.GetDeletionTimestamp()
	if at == nil {
		return nil
	}
	c := event.Cause{
		Code:      "Terminating",
		Message:   name(object.RefOf(u)) + " has been terminating" + v.since(*at),
		Next:      get(object.RefOf(u)),
		Evidence:  []string{".metadata.deletionTimestamp is " + at.UTC().Format(time.RFC3339)},
		BlockedBy: object.RefOf(u),
	}
	if finalizers := u.GetFinalizers(); len(finalizers) > 0 {
		c.Evidence = append(c.Evidence, "finalizers: "+text.List(finalizers, 5))
	}
	return []finding{{Cause: c, rank: root}}
}

// namespace says that the namespace is not there, or goes.
func (v *view) namespace() []finding {
	ns := v.object.GetNamespace()
	if ns == "" {
		return nil
	}
	r := ref(core("Namespace"), "", ns)
	u := v.find(r)
	if u == nil || u.GetDeletionTimestamp() == nil {
		return nil
	}
	var evidence []string
	for _, c := range object.Conditions(u) {
		if c.Status == "True" {
			evidence = append(evidence, line(c))
		}
	}
	return []finding{{rank: root, Cause: event.Cause{
		Code:      "NamespaceTerminating",
		Message:   "namespace " + ns + " has been terminating" + v.since(*u.GetDeletionTimestamp()) + ": nothing new can be created in it",
		Evidence:  evidence,
		Next:      describe(r),
		BlockedBy: r,
	}}}
}

// silentKind reports whether there is nothing to learn from the events of a kind.
func silentKind(u *unstructured.Unstructured) bool {
	gk := u.GroupVersionKind().GroupKind()
	return gk == definition().GroupKind() || gk == apiService().GroupKind() || gk == core("Namespace").GroupKind()
}

// name is how messages call an object: as kubectl takes it.
func name(r object.Ref) string { return r.String() }

// line is a condition as evidence.
func line(c object.Condition) string {
	said := "condition " + text.Excerpt(c.Type) + "=" + text.Excerpt(c.Status)
	if c.Reason != "" {
		said += " (" + text.Excerpt(c.Reason) + ")"
	}
	if c.Message != "" {
		said += ": " + text.Excerpt(c.Message)
	}
	return said
}
