package preflight

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// quotas reports Pods that a quota will not admit. It counts the least that is needed:
// only containers, without what a LimitRange adds to them, after all objects of the set
// have freed what they no longer need.
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
			out = append(out, v.unstated(q, demands[namespace])...)
		}
	}
	return out
}

// quotasOf returns the quotas of a namespace. Those that are part of the set are as the
// set states them.
func (v *view) quotasOf(namespace string) []*corev1.ResourceQuota {
	var all []*corev1.ResourceQuota
	live, _ := v.List(core("ResourceQuota"), namespace)
	for _, u := range live {
		if q, ok := typedAs[corev1.ResourceQuota](u); ok && v.set.find(refOf(core("ResourceQuota"), namespace, q.Name)) == nil {
			if len(q.Status.Hard) > 0 { // The quota is enforced.
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
	return all
}

// balance is the effect of the demands on one resource of a quota.
type balance struct {
	// freed is what objects of the set will no longer need; taken is what others will need
	// in addition.
	freed, taken resource.Quantity
}

// exceeded returns a remark on the first object that, together with those before it,
// exceeds the quota.
func (v *view) exceeded(q *corev1.ResourceQuota, demands []demand) []event.Remarked {
	if v.set.prunes {
		return nil // A prune makes room, and how much is unknown.
	}
	for _, name := range sorted(q.Spec.Hard) {
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
			room := left.DeepCopy()
			room.Add(sum.freed)
			room.Sub(sum.taken)
			if changes[i].Cmp(room) <= 0 || name != corev1.ResourcePods && name != "count/pods" && v.mayResize(d.template) {
				sum.taken.Add(changes[i])
				continue
			}
			return []event.Remarked{{
				Ref: d.of.Ref, Code: "QuotaExceeded", Path: d.resourcesPath(name),
				Text: fmt.Sprintf("%s %s of %s; ResourceQuota %s of namespace %s has %s of %s left%s",
					d.needing(name, changes[i]), changes[i].String(), name, text.Excerpt(q.Name), text.Excerpt(q.Namespace), left.String(), hard.String(), sum.said()),
				Hint: "raise the quota, or ask for less",
			}}
		}
	}
	return nil
}

// said describes how the other objects of the set affect what is left.
func (b balance) said() string {
	said := ""
	if !b.freed.IsZero() {
		said = ", objects of this set give back " + b.freed.String()
	}
	if !b.taken.IsZero() {
		said += ", and objects before it in this set take " + b.taken.String()
	}
	return said
}

func sorted(list corev1.ResourceList) []corev1.ResourceName {
	var names []corev1.ResourceName
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unstated reports containers that do not state a resource that the quota counts, and that
// get no default for it in the namespace: their Pods are refused.
func (v *view) unstated(q *corev1.ResourceQuota, demands []demand) []event.Remarked {
	for _, name := range sorted(q.Spec.Hard) {
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
