package preflight

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// demand is what the Pods of one object will need besides what there is.
type demand struct {
	template
	pods int64
}

// quotas tells of Pods that a quota will not let in. What it counts is the least that is
// needed: containers alone, without what a LimitRange adds to them.
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
			out = append(out, exceeded(q, demands[namespace])...)
			out = append(out, v.unstated(q, demands[namespace])...)
		}
	}
	return out
}

// demandOf returns what an object will need in addition; false for none, or if that is not
// known.
func demandOf(s *set, o Object) (demand, bool) {
	if !o.Changes {
		return demand{}, false
	}
	for _, t := range s.templates[o.Ref.Namespace] {
		if t.of.Ref != o.Ref {
			continue
		}
		more := podsOf(o.After) - podsOf(o.Before)
		if d, ok := deploymentOf(o.After); ok && o.Before != nil && more <= 0 && podsOf(o.After) > 0 && t.starts() && startsFirst(d) {
			more = 1 // The new one comes before an old one goes.
		}
		return demand{t, more}, more > 0
	}
	return demand{}, false
}

// podsOf is how many Pods an object wants; 0 where that is not said in it.
func podsOf(u *unstructured.Unstructured) int64 {
	if u == nil {
		return 0
	}
	switch u.GroupVersionKind().GroupKind().String() {
	case "Pod":
		return 1
	case "Deployment.apps":
		if d, ok := typedAs[appsv1.Deployment](u); ok && !d.Spec.Paused {
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
			n := replicas(j.Spec.Parallelism)
			if j.Spec.Completions != nil {
				n = min(n, int(*j.Spec.Completions))
			}
			return int64(n)
		}
	}
	return 0
}

// quotasOf returns the quotas that count all Pods of a namespace, those of the set as it
// states them.
func (v *view) quotasOf(namespace string) []*corev1.ResourceQuota {
	var all []*corev1.ResourceQuota
	live, _ := v.List(core("ResourceQuota"), namespace)
	for _, u := range live {
		if q, ok := typedAs[corev1.ResourceQuota](u); ok && v.set.find(refOf(core("ResourceQuota"), namespace, q.Name)) == nil {
			if len(q.Status.Hard) > 0 { // It is enforced.
				all = append(all, q)
			}
		}
	}
	for _, o := range v.set.of("", "ResourceQuota", namespace) {
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
	return slices.DeleteFunc(all, func(q *corev1.ResourceQuota) bool {
		return len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil
	})
}

// exceeded returns a remark at the first object for which the quota is too small, together
// with those before it.
func exceeded(q *corev1.ResourceQuota, demands []demand) []event.Remarked {
	for _, name := range sorted(q.Spec.Hard) {
		hard, used := q.Spec.Hard[name], q.Status.Used[name]
		sum := used.DeepCopy()
		for _, d := range demands {
			each, counts := d.amount(name)
			if !counts {
				break
			}
			need := each.DeepCopy()
			need.Mul(d.pods)
			taken := sum.DeepCopy()
			taken.Sub(used)
			sum.Add(need)
			if sum.Cmp(hard) <= 0 || need.IsZero() {
				continue
			}
			left := hard.DeepCopy()
			left.Sub(used)
			before := ""
			if !taken.IsZero() {
				before = ", and objects before it in this set take " + taken.String()
			}
			return []event.Remarked{{
				Ref: d.of.Ref, Code: "QuotaExceeded", Path: d.resourcesPath(name),
				Text: fmt.Sprintf("its %s %s %s of %s; ResourceQuota %s of namespace %s has %s of %s left%s",
					text.Count(int(d.pods), "new Pod"), needs(d.pods), need.String(), name, text.Excerpt(q.Name), text.Excerpt(q.Namespace), left.String(), hard.String(), before),
				Hint: "raise the quota, or ask for less",
			}}
		}
	}
	return nil
}

func needs(n int64) string {
	if n == 1 {
		return "needs"
	}
	return "need"
}

func sorted(list corev1.ResourceList) []corev1.ResourceName {
	var names []corev1.ResourceName
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// amount is how much of a quota's resource one Pod counts as; false if that is not known.
func (d demand) amount(name corev1.ResourceName) (resource.Quantity, bool) {
	if name == corev1.ResourcePods || name == "count/pods" {
		return resource.MustParse("1"), true
	}
	what, limits, known := countedAs(name)
	if !known || d.spec.Resources != nil {
		return resource.Quantity{}, false
	}
	var sum resource.Quantity
	for _, c := range d.spec.Containers {
		amount, stated := c.Resources.Limits[what]
		if request, ok := c.Resources.Requests[what]; ok && !limits {
			amount, stated = request, true
		}
		if stated {
			sum.Add(amount)
		}
	}
	return sum, true
}

// countedAs is the resource of a container that a quota counts, and whether it counts limits.
func countedAs(name corev1.ResourceName) (what corev1.ResourceName, limits, known bool) {
	if rest, ok := strings.CutPrefix(string(name), "requests."); ok && rest != "storage" {
		return corev1.ResourceName(rest), false, true
	}
	if rest, ok := strings.CutPrefix(string(name), "limits."); ok {
		return corev1.ResourceName(rest), true, true
	}
	return name, false, name == corev1.ResourceCPU || name == corev1.ResourceMemory
}

// resourcesPath is the field that decides how much is needed.
func (d demand) resourcesPath(name corev1.ResourceName) string {
	if len(d.spec.Containers) == 1 && name != corev1.ResourcePods && name != "count/pods" {
		return fmt.Sprintf("%s.containers[name=%q].resources", d.path, d.spec.Containers[0].Name)
	}
	return strings.TrimSuffix(d.path, ".template.spec")
}

// unstated tells of containers that do not state a resource which the quota counts, and for
// which nothing in the namespace states one: their Pods are refused.
func (v *view) unstated(q *corev1.ResourceQuota, demands []demand) []event.Remarked {
	for _, name := range sorted(q.Spec.Hard) {
		what, limits, known := countedAs(name)
		if !known || what != corev1.ResourceCPU && what != corev1.ResourceMemory {
			continue
		}
		for _, d := range demands {
			i := slices.IndexFunc(d.spec.Containers, func(c corev1.Container) bool { return !states(c, what, limits) })
			if i < 0 || d.spec.Resources != nil || !v.noDefaults(q.Namespace) {
				continue
			}
			field := "requests"
			if limits {
				field = "limits"
			}
			return []event.Remarked{{
				Ref: d.of.Ref, Code: "QuotaNeedsResources", Path: fmt.Sprintf("%s.containers[name=%q].resources.%s", d.path, d.spec.Containers[i].Name, field),
				Text: fmt.Sprintf("its Pods are refused: ResourceQuota %s of namespace %s counts %s, and container %s does not state any",
					text.Excerpt(q.Name), text.Excerpt(q.Namespace), name, text.Excerpt(d.spec.Containers[i].Name)),
				Hint: fmt.Sprintf("state %s of %s for each container, or default them with a LimitRange", field, what),
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

// noDefaults reports whether it is known that no LimitRange supplies what containers do not
// state.
func (v *view) noDefaults(namespace string) bool {
	ranges, sure := v.List(core("LimitRange"), namespace)
	return sure && len(ranges) == 0 && len(v.set.of("", "LimitRange", namespace)) == 0
}
