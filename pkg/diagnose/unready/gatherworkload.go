package unready

import (
	"context"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// workloadKinds are those that make Pods, by themselves or by others of them.
func workloadKinds() []schema.GroupKind {
	return []schema.GroupKind{
		apps("Deployment").GroupKind(), apps("StatefulSet").GroupKind(), apps("DaemonSet").GroupKind(),
		apps("ReplicaSet").GroupKind(), core("ReplicationController").GroupKind(), batch("Job").GroupKind(),
	}
}

// selector returns the label selector of a workload; false where it has none.
func selector(u *unstructured.Unstructured) (string, bool) {
	if u.GroupVersionKind().GroupKind() == core("ReplicationController").GroupKind() {
		set, _, _ := unstructured.NestedStringMap(u.Object, "spec", "selector")
		text := metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: set})
		return text, len(set) > 0
	}
	var s struct {
		Spec struct {
			Selector *metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}
	if err := convert(u, &s); err != nil || s.Spec.Selector == nil {
		return "", false
	}
	text := selectorOf(s.Spec.Selector)
	return text, text != ""
}

// deployment reads the ReplicaSets of a Deployment that have Pods, or should, and
// those Pods.
func (g *gathering) deployment(ctx context.Context, u *unstructured.Unstructured) {
	labels, ok := selector(u)
	if !ok {
		return
	}
	var sets []*unstructured.Unstructured
	g.each(ctx, apps("ReplicaSet"), object.Selection{Namespace: u.GetNamespace(), Labels: labels}, "", func(rs *unstructured.Unstructured) bool {
		if !metav1.IsControlledBy(rs, u) || idle(rs) && !current(rs, u) {
			return false
		}
		sets = append(sets, rs)
		return true
	})
	steps := []func(){func() { g.pods(ctx, u.GetNamespace(), labels, controlledBy(sets...)) }}
	for _, rs := range sets {
		steps = append(steps, func() { g.creation(ctx, rs) })
	}
	together(steps...)
}

// idle tells whether a ReplicaSet is one that is kept for its history.
func idle(rs *unstructured.Unstructured) bool {
	wanted, _, _ := unstructured.NestedInt64(rs.Object, "spec", "replicas")
	has, _, _ := unstructured.NestedInt64(rs.Object, "status", "replicas")
	return wanted == 0 && has == 0
}

func current(rs, deployment *unstructured.Unstructured) bool {
	const revision = "deployment.kubernetes.io/revision"
	return rs.GetAnnotations()[revision] == deployment.GetAnnotations()[revision]
}

// workload reads the Pods that a workload controls, and why it has too few.
func (g *gathering) workload(ctx context.Context, u *unstructured.Unstructured) {
	labels, ok := selector(u)
	if !ok {
		return
	}
	together(
		func() { g.pods(ctx, u.GetNamespace(), labels, controlledBy(u)) },
		func() { g.creation(ctx, u) },
	)
}

// creation reads what a workload needs to create Pods, if it has fewer than it
// should.
func (g *gathering) creation(ctx context.Context, u *unstructured.Unstructured) {
	if !isShort(u) {
		return
	}
	var t struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if convert(u, &t) != nil {
		return
	}
	account := t.Spec.Template.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	every := func(*unstructured.Unstructured) bool { return true }
	steps := []func(){
		func() { g.exists(ctx, ref(core("ServiceAccount"), u.GetNamespace(), account)) },
		func() {
			g.each(ctx, core("ResourceQuota"), object.Selection{Namespace: u.GetNamespace()}, "", every)
		},
	}
	together(steps...)
}

// isShort tells whether a workload has fewer Pods than it should have.
func isShort(u *unstructured.Unstructured) bool {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(u.Object, fields...)
		return n
	}
	switch u.GetKind() {
	case "DaemonSet":
		return number("status", "currentNumberScheduled") < number("status", "desiredNumberScheduled")
	case "Job":
		return number("status", "active") == 0 && number("status", "succeeded") == 0
	}
	return number("status", "replicas") < number("spec", "replicas")
}

// cronJob reads the Jobs of a CronJob that are under way.
func (g *gathering) cronJob(ctx context.Context, u *unstructured.Unstructured) {
	c, ok := as[batchv1.CronJob](u)
	if !ok {
		return
	}
	var steps []func()
	for _, active := range c.Status.Active[:min(3, len(c.Status.Active))] {
		steps = append(steps, func() {
			if job := g.read(ctx, ref(batch("Job"), u.GetNamespace(), active.Name)); job != nil {
				g.workload(ctx, job)
			}
		})
	}
	together(steps...)
}

// owned reads the workloads and Pods that an operator made for an object, and what
// those workloads rest on.
func (g *gathering) owned(ctx context.Context, owner *unstructured.Unstructured) {
	var mu sync.Mutex
	var found []*unstructured.Unstructured
	var steps []func()
	for _, gvk := range []schema.GroupVersionKind{apps("Deployment"), apps("StatefulSet"), apps("DaemonSet"), apps("ReplicaSet"), batch("Job")} {
		steps = append(steps, func() {
			g.each(ctx, gvk, object.Selection{Namespace: owner.GetNamespace()}, "", func(u *unstructured.Unstructured) bool {
				if !ownedBy(u, owner) {
					return false
				}
				mu.Lock()
				defer mu.Unlock()
				found = append(found, u)
				return true
			})
		})
	}
	steps = append(steps, func() {
		g.pods(ctx, owner.GetNamespace(), "", func(u *unstructured.Unstructured) bool { return ownedBy(u, owner) })
	})
	together(steps...)
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int { return object.RefOf(a).Compare(object.RefOf(b)) })
	steps = nil
	for _, u := range found[:min(detail, len(found))] {
		steps = append(steps, func() { g.subject(ctx, u) })
	}
	together(steps...)
}
