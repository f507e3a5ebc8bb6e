package unready

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Facts are what is known about an object that does not get ready, and about what its
// readiness depends on.
type Facts struct {
	// Object is the object that does not get ready.
	Object *unstructured.Unstructured
	// Now is the time at which the facts were gathered; if it is zero, no ages are
	// reported.
	Now time.Time

	known *diagnose.Facts
}

// Gather reads what the situation of the object calls for, and no more. Unreadable facts are
// marked. It returns an error only if ctx ends, together with the facts gathered so far; a caller
// whose own time is over passes a context with time of its own. If the reader has a method Now,
// that is the cluster's time; otherwise this machine's clock is used.
func Gather(ctx context.Context, reader diagnose.Reader, live *unstructured.Unstructured) (Facts, error) {
	now := time.Now
	if clock, ok := reader.(interface{ Now() time.Time }); ok {
		now = clock.Now
	}
	f := Facts{Object: live, Now: now(), known: diagnose.NewFacts(live)}
	g := diagnose.Gatherer{
		Now:         now,
		Reader:      reader,
		ReadTimeout: time.Hour, // The caller's time is the limit.
		// The number of single reads is bounded by that of the Pods examined in detail. A
		// list of all nodes, or claims, may be much longer.
		WorthList: 100,
	}
	return f, g.Fill(ctx, f.known, func(r *diagnose.Run) { newRules(r, live).explain() })
}

// Diagnose explains why the object is not ready: root causes first, and one cause for all
// Pods with the same trouble. It returns nothing if the facts explain nothing.
func Diagnose(f Facts) []event.Cause {
	if f.Object == nil {
		return nil
	}
	return newRules(diagnose.NewRun(f.Now, f.known), f.Object).explain()
}

// explain runs the rules.
func (v *rules) explain() []event.Cause {
	found := v.apply()
	v.askLast()
	unread := v.unread()
	if len(found) == 0 && len(unread) > 0 {
		found = stated(v.Object)
	}
	return rule.Causes(append(found, unread...), v.More)
}

func (v *rules) apply() []rule.Finding { return slices.Concat(v.namespace(), v.subject(v.Object)) }

// askLast asks who holds a volume, and for warnings. Which volumes and objects count is
// known only once everything else is.
func (v *rules) askLast() {
	if v.Misses() == 0 {
		v.volumes.AskHolders()
		v.AskWarnings()
	}
}

// subject applies the rules for the kind of an object: the one that is not ready, or one
// on which its readiness depends.
func (v *rules) subject(u *unstructured.Unstructured) []rule.Finding {
	key := object.RefOf(u).Key()
	if v.told[key] {
		return nil // Two objects may depend on one.
	}
	v.told[key] = true
	if u.GetDeletionTimestamp() != nil && key != object.RefOf(v.Object).Key() {
		return nil
	}
	if !silentKind(u) {
		v.Warnings(u) // Warnings are worth reading for any kind.
	}
	found := append(v.leaving(u), v.unobserved(u)...)
	return append(found, v.kind(u)...)
}

func (v *rules) kind(u *unstructured.Unstructured) []rule.Finding {
	switch u.GroupVersionKind().GroupKind() {
	case rule.Core("Pod").GroupKind():
		return typed(v, u, v.pods.Explain)
	case rule.Apps("Deployment").GroupKind():
		return typed(v, u, v.deployment)
	case rule.Apps("ReplicaSet").GroupKind():
		return typed(v, u, v.replicaSet)
	case rule.Core("ReplicationController").GroupKind():
		return typed(v, u, v.replicationController)
	case rule.Apps("StatefulSet").GroupKind():
		return typed(v, u, v.statefulSet)
	case rule.Apps("DaemonSet").GroupKind():
		return typed(v, u, v.daemonSet)
	case rule.Batch("Job").GroupKind():
		return typed(v, u, v.job)
	case rule.Batch("CronJob").GroupKind():
		return typed(v, u, v.cronJob)
	case rule.Core("PersistentVolumeClaim").GroupKind():
		return typed(v, u, v.volumes.Claim)
	case rule.Core("Service").GroupKind():
		return typed(v, u, v.service)
	case rule.Networking("Ingress").GroupKind():
		return typed(v, u, v.ingress)
	case rule.Definition().GroupKind():
		return v.definition(u)
	case rule.APIService().GroupKind():
		return v.apiService(u)
	case rule.Autoscaler().GroupKind():
		return v.autoscaler(u)
	case rule.Core("Namespace").GroupKind():
		return nil // Its deletion was reported already.
	default:
		return v.custom(u)
	}
}

// typed applies rules to the struct of a kind.
func typed[T any](v *rules, u *unstructured.Unstructured, rules func(*T) []rule.Finding) []rule.Finding {
	t, ok := rule.As[T](v.View, u)
	if !ok {
		return nil
	}
	return rules(t)
}
