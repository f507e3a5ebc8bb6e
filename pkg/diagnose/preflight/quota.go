package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// quotas reports objects that a quota would refuse. It assumes the lowest possible usage.
func (v *view) quotas() []event.Remarked {
	demands, order := map[string][]demand{}, []string{}
	for _, o := range v.set.objects {
		if d, ok := demandOf(v.set, o); ok {
			namespace := o.Ref.Namespace
			if demands[namespace] == nil {
				order = append(order, namespace)
			}
			demands[namespace] = append(demands[namespace], d)
		}
	}
	var out []event.Remarked
	for _, namespace := range order {
		for _, q := range v.quotasOf(namespace) {
			out = append(out, v.exceeded(q, demands[namespace])...)
			out = append(out, v.undeclared(q, demands[namespace])...)
		}
	}
	return out
}

func (v *view) quotasOf(namespace string) []*corev1.ResourceQuota {
	var all []*corev1.ResourceQuota
	live, _ := v.List(diagnose.KindOf("v1", "ResourceQuota"), namespace)
	for _, u := range live {
		if q, ok := typedAs[corev1.ResourceQuota](u); ok && v.set.find(diagnose.RefOf("v1", "ResourceQuota", namespace, q.Name)) == nil {
			if len(q.Status.Hard) > 0 { // It is enforced.
				all = append(all, q)
			}
		}
	}
	for _, o := range v.set.ofKind("", "ResourceQuota", namespace) {
		q, ok := typedAs[corev1.ResourceQuota](o.After)
		if !ok {
			continue
		}
		for _, u := range live {
			if was, ok := typedAs[corev1.ResourceQuota](u); ok && was.Name == q.Name {
				q.Status.Used = was.Status.Used
			}
		}
		all = append(all, q)
	}
	return all
}

type balance struct {
	// freed and taken hold the amounts that the set frees and takes.
	freed, taken resource.Quantity
}

func (v *view) exceeded(q *corev1.ResourceQuota, demands []demand) []event.Remarked {
	if v.set.prunes {
		return nil // A prune frees an unknown amount.
	}
	for _, name := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
		changes := make([]resource.Quantity, len(demands))
		sum, known := balance{}, true
		for i, d := range demands {
			switch v.counts(q, d) {
			case yes:
				var sure bool
				changes[i], sure = d.change(name)
				known = known && sure
			case perhaps:
				known = known && d.before == 0 // A new object cannot free anything.
			case no:
			}
			if changes[i].Sign() < 0 {
				sum.freed.Sub(changes[i])
			}
		}
		if !known {
			continue
		}
		hard := q.Spec.Hard[name]
		left := hard.DeepCopy()
		left.Sub(q.Status.Used[name])
		for i, d := range demands {
			if changes[i].Sign() <= 0 {
				continue
			}
			capacity := left.DeepCopy()
			capacity.Add(sum.freed)
			capacity.Sub(sum.taken)
			if changes[i].Cmp(capacity) <= 0 || name != corev1.ResourcePods && name != "count/pods" && v.mayResize(d.template) {
				sum.taken.Add(changes[i])
				continue
			}
			return []event.Remarked{{
				Ref: d.of.Ref, Code: "QuotaExceeded", Path: d.resourcesPath(name),
				Text: fmt.Sprintf("%s %s of %s; ResourceQuota %s in namespace %s has %s of %s left%s",
					d.needing(name, changes[i]), changes[i].String(), name, text.Excerpt(q.Name), text.Excerpt(q.Namespace), left.String(), hard.String(), sum.message()),
				Hint: "raise the quota, or request less",
			}}
		}
	}
	return nil
}

func (b balance) message() string {
	message := ""
	if !b.freed.IsZero() {
		message = "; objects in this set release " + b.freed.String()
	}
	if !b.taken.IsZero() {
		message += ", and earlier objects in this set take " + b.taken.String()
	}
	return message
}

// undeclared reports containers that set no value for a resource that the quota counts. If the
// namespace has no default either, their Pods are refused.
func (v *view) undeclared(q *corev1.ResourceQuota, demands []demand) []event.Remarked {
	for _, name := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
		what, limits, known := countedAs(name)
		if !known || what != corev1.ResourceCPU && what != corev1.ResourceMemory {
			continue
		}
		for _, d := range demands {
			i := slices.IndexFunc(d.spec.Containers, func(c corev1.Container) bool { return !states(c, what, limits) })
			if i < 0 || !d.makes() || d.spec.Resources != nil || v.counts(q, d) != yes || !v.noDefaults(q.Namespace) || v.mayResize(d.template) {
				continue
			}
			field := "requests"
			if limits {
				field = "limits"
			}
			return []event.Remarked{{
				Ref: d.of.Ref, Code: "QuotaNeedsResources", Path: fmt.Sprintf("%s.containers[name=%q].resources.%s", d.path, d.spec.Containers[i].Name, field),
				Text: fmt.Sprintf("its Pods will be refused: ResourceQuota %s in namespace %s counts %s, but container %s does not set it",
					text.Excerpt(q.Name), text.Excerpt(q.Namespace), name, text.Excerpt(d.spec.Containers[i].Name)),
				Hint: fmt.Sprintf("set %s.%s for each container, or set a default with a LimitRange", field, what),
			}}
		}
	}
	return nil
}

func states(c corev1.Container, what corev1.ResourceName, limits bool) bool {
	_, limit := c.Resources.Limits[what]
	_, request := c.Resources.Requests[what]
	return limit || request && !limits
}

// demand is a change in an object's use of a quota.
type demand struct {
	template
	// old holds the previous template; nil for a new object, or if no Pods are replaced.
	old           *template
	before, after int64
	// first is set if new Pods start before old Pods end.
	first bool
}

func demandOf(s *set, o Object) (demand, bool) {
	if !o.Changes {
		return demand{}, false
	}
	for _, t := range s.templates[o.Ref.Namespace] {
		if t.of.Ref != o.Ref {
			continue
		}
		d := demand{template: t, before: podsOf(o.Before), after: podsOf(o.After)}
		deployment, isDeployment := deploymentOf(o.After)
		paused := isDeployment && deployment.Spec.Paused
		if old, was := templateOf(o.Before); was && t.starts() && !paused {
			d.old = &old
			d.first = isDeployment && startsFirst(deployment)
		}
		if o.Before == nil && paused {
			d.after = 0 // A paused Deployment creates no ReplicaSet.
		}
		return d, d.before != d.after || d.old != nil
	}
	return demand{}, false
}

func (d demand) makes() bool { return d.after > d.before || d.old != nil && d.after > 0 }

// podsOf returns how many Pods an object needs at once, or 0. The Pods of a Job may run one after
// another.
func podsOf(u *unstructured.Unstructured) int64 {
	if u == nil {
		return 0
	}
	switch u.GroupVersionKind().GroupKind().String() {
	case "Pod":
		return 1
	case "Deployment.apps":
		if d, ok := typedAs[appsv1.Deployment](u); ok {
			return int64(replicas(d.Spec.Replicas))
		}
	case "StatefulSet.apps":
		if s, ok := typedAs[appsv1.StatefulSet](u); ok {
			return int64(replicas(s.Spec.Replicas))
		}
	case "ReplicaSet.apps":
		if s, ok := typedAs[appsv1.ReplicaSet](u); ok {
			return int64(replicas(s.Spec.Replicas))
		}
	case "Job.batch":
		if j, ok := typedAs[batchv1.Job](u); ok && (j.Spec.Suspend == nil || !*j.Spec.Suspend) {
			return int64(min(1, replicas(j.Spec.Parallelism)))
		}
	}
	return 0
}

func (d demand) change(name corev1.ResourceName) (resource.Quantity, bool) {
	each, known := d.amount(name)
	if !known {
		return resource.Quantity{}, d.before == 0 // A new object cannot free anything.
	}
	if d.old == nil {
		return times(each, d.after-d.before), true
	}
	was, known := d.old.amount(name)
	if !known {
		return resource.Quantity{}, false
	}
	sum := times(each, d.after)
	sum.Sub(times(was, d.before))
	if !d.first || d.after == 0 {
		return sum, true
	}
	rolling := times(each, max(1, d.after-d.before)) // A new Pod starts before an old one ends.
	rolling.Sub(times(was, max(0, d.before-d.after)))
	if rolling.Cmp(sum) > 0 {
		return rolling, true
	}
	return sum, true
}

func times(q resource.Quantity, n int64) resource.Quantity {
	product := q.DeepCopy()
	product.Mul(n)
	return product
}

func (t template) amount(name corev1.ResourceName) (resource.Quantity, bool) {
	if name == corev1.ResourcePods || name == "count/pods" {
		return resource.MustParse("1"), true
	}
	what, limits, known := countedAs(name)
	if !known || t.spec.Resources != nil {
		return resource.Quantity{}, false
	}
	var sum resource.Quantity
	for _, c := range t.spec.Containers {
		amount, declared := c.Resources.Limits[what]
		if request, ok := c.Resources.Requests[what]; ok && !limits {
			amount, declared = request, true
		}
		if declared {
			sum.Add(amount)
		}
	}
	return sum, true
}

func countedAs(name corev1.ResourceName) (what corev1.ResourceName, limits, known bool) {
	if rest, ok := strings.CutPrefix(string(name), "requests."); ok && rest != "storage" {
		return corev1.ResourceName(rest), false, true
	}
	if rest, ok := strings.CutPrefix(string(name), "limits."); ok {
		return corev1.ResourceName(rest), true, true
	}
	return name, false, name == corev1.ResourceCPU || name == corev1.ResourceMemory
}

func (d demand) needing(name corev1.ResourceName, much resource.Quantity) string {
	n := max(1, d.after-d.before)
	if each, _ := d.amount(name); much.Cmp(times(each, n)) != 0 {
		return "its Pods need another"
	}
	if n == 1 {
		return "its 1 new Pod needs"
	}
	return fmt.Sprintf("its %s need", text.Count(int(n), "new Pod"))
}

func (d demand) resourcesPath(name corev1.ResourceName) string {
	if len(d.spec.Containers) == 1 && name != corev1.ResourcePods && name != "count/pods" {
		return fmt.Sprintf("%s.containers[name=%q].resources", d.path, d.spec.Containers[0].Name)
	}
	return strings.TrimSuffix(d.path, ".template.spec")
}
