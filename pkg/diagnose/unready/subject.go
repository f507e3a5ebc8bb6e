package unready

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// subject applies the rules for the kind of an object: the one that is not ready,
// or one that its readiness rests on.
func (v *view) subject(u *unstructured.Unstructured) []finding {
	key := object.RefOf(u).Key()
	if v.told[key] {
		return nil // Two objects may rest on one.
	}
	v.told[key] = true
	if u.GetDeletionTimestamp() != nil && key != object.RefOf(v.object).Key() {
		return nil
	}
	if !silentKind(u) {
		v.warnings(u) // Whatever it is, they are about it.
	}
	found := append(v.leaving(u), v.unobserved(u)...)
	return append(found, v.kind(u)...)
}

func (v *view) kind(u *unstructured.Unstructured) []finding {
	switch u.GroupVersionKind().GroupKind() {
	case core("Pod").GroupKind():
		return typed(u, v.pod)
	case apps("Deployment").GroupKind():
		return typed(u, v.deployment)
	case apps("ReplicaSet").GroupKind():
		return typed(u, v.replicaSet)
	case core("ReplicationController").GroupKind():
		return typed(u, v.replicationController)
	case apps("StatefulSet").GroupKind():
		return typed(u, v.statefulSet)
	case apps("DaemonSet").GroupKind():
		return typed(u, v.daemonSet)
	case batch("Job").GroupKind():
		return typed(u, v.job)
	case batch("CronJob").GroupKind():
		return typed(u, v.cronJob)
	case core("PersistentVolumeClaim").GroupKind():
		return typed(u, v.claim)
	case core("Service").GroupKind():
		return typed(u, v.service)
	case networking("Ingress").GroupKind():
		return typed(u, v.ingress)
	case definition().GroupKind():
		return v.definition(u)
	case apiService().GroupKind():
		return v.apiService(u)
	case autoscaler().GroupKind():
		return v.autoscaler(u)
	case core("Namespace").GroupKind():
		return nil // That it goes is told already.
	default:
		return v.custom(u)
	}
}

// typed applies rules to the struct of a kind.
func typed[T any](u *unstructured.Unstructured, rules func(*T) []finding) []finding {
	t, ok := as[T](u)
	if !ok {
		return nil
	}
	return rules(t)
}

// leaving says that the object is being deleted: it will not get ready any more.
func (v *view) leaving(u *unstructured.Unstructured) []finding {
	at := u.GetDeletionTimestamp()
	if at == nil {
		return nil
	}
	c := event.Cause{
		Code:      "Terminating",
		Message:   name(object.RefOf(u)) + " is being deleted" + v.since(*at),
		Next:      get(object.RefOf(u)),
		Evidence:  []string{".metadata.deletionTimestamp is " + at.UTC().Format(time.RFC3339)},
		BlockedBy: object.RefOf(u),
	}
	if finalizers := u.GetFinalizers(); len(finalizers) > 0 {
		c.Evidence = append(c.Evidence, "finalizers: "+some(finalizers, 5))
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
	for _, c := range diagnose.Conditions(u) {
		if c.Status == "True" {
			evidence = append(evidence, line(c))
		}
	}
	return []finding{{rank: root, Cause: event.Cause{
		Code:      "NamespaceTerminating",
		Message:   "namespace " + ns + " is being deleted" + v.since(*u.GetDeletionTimestamp()) + ": nothing new can be created in it",
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
func line(c diagnose.Condition) string {
	text := "condition " + clean(c.Type) + "=" + clean(c.Status)
	if c.Reason != "" {
		text += " (" + clean(c.Reason) + ")"
	}
	if c.Message != "" {
		text += ": " + clean(c.Message)
	}
	return text
}
