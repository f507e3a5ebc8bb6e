package preflight

import (
	"fmt"
	"maps"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// budgets reports disruption budgets that allow no eviction even if all Pods are healthy, so nodes
// cannot be drained.
func (v *view) budgets() []event.Remarked {
	var out []event.Remarked
	budgets := diagnose.KindOf("policy/v1", "PodDisruptionBudget")
	for _, o := range v.set.objects {
		if o.Ref.GVK != budgets || !o.Changes {
			continue
		}
		if b, ok := typedAs[policyv1.PodDisruptionBudget](o.After); ok {
			out = append(out, v.budget(o.Ref, b, false)...)
		}
	}
	for _, namespace := range v.scaled() {
		live, _ := v.List(budgets, namespace)
		for _, u := range live {
			b, ok := typedAs[policyv1.PodDisruptionBudget](u)
			ref := object.RefOf(u)
			if known := v.set.find(ref); ok && (known == nil || !known.Changes) {
				out = append(out, v.budget(ref, b, true)...)
			}
		}
	}
	return out
}

func (v *view) scaled() []string {
	var all []string
	for _, namespace := range slices.Sorted(maps.Keys(v.set.templates)) {
		if slices.ContainsFunc(v.set.templates[namespace], func(t template) bool { return comesToHaveFewer(t.of) }) {
			all = append(all, namespace)
		}
	}
	return all
}

func comesToHaveFewer(o *Object) bool {
	return o.Changes && podsOf(o.After) > 0 && (o.Before == nil || podsOf(o.After) < podsOf(o.Before))
}

// budget reports a budget that allows no eviction even if all Pods are ready. If the budget itself does not
// change, it is reported only because the run makes the Pods fewer.
func (v *view) budget(ref object.Ref, b *policyv1.PodDisruptionBudget, scaled bool) []event.Remarked {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil || b.Spec.Selector == nil {
		return nil
	}
	if most := b.Spec.MaxUnavailable; most != nil {
		if n, err := intstr.GetScaledValueFromIntOrPercent(most, 100, true); scaled || err != nil || n > 0 {
			return nil
		}
		return []event.Remarked{blocked(ref, ".spec.maxUnavailable", "maxUnavailable is "+most.String()+", which allows no eviction, however many Pods are ready")}
	}
	least := b.Spec.MinAvailable
	if least == nil {
		return nil
	}
	if n, err := intstr.GetScaledValueFromIntOrPercent(least, 100, true); least.Type == intstr.String && err == nil && n >= 100 {
		if scaled {
			return nil
		}
		return []event.Remarked{blocked(ref, ".spec.minAvailable", "minAvailable is "+least.String()+", which allows no eviction, however many Pods are ready")}
	}
	pods, of, known := v.selected(ref.Namespace, selector)
	if !known || pods == 0 || scaled && !comesToHaveFewer(of) {
		return nil
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(least, int(pods), true)
	if err != nil || int64(n) < pods {
		return nil
	}
	r := blocked(ref, ".spec.minAvailable", fmt.Sprintf("minAvailable is %s, and %s has %s: no eviction is allowed, however many of them are ready",
		least, text.Excerpt(of.Ref.Resource()), text.Count(int(pods), "Pod")))
	if scaled {
		r.Ref, r.Path = of.Ref, ".spec.replicas"
		r.Text = "PodDisruptionBudget " + text.Excerpt(ref.Name) + ": " + r.Text
	}
	return []event.Remarked{r}
}

func blocked(ref object.Ref, path, message string) event.Remarked {
	return event.Remarked{
		Ref: ref, Code: "EvictionBlocked", Path: path,
		Text: message + ", so a node with a ready Pod cannot be drained",
		Hint: "set maxUnavailable: 1, or run more replicas than minAvailable",
	}
}

// selected returns how many Pods a selector matches, and their workload. It returns false unless
// all of these Pods belong to one workload in the set, and no autoscaler scales that workload.
func (v *view) selected(namespace string, selector labels.Selector) (int64, *Object, bool) {
	var of *Object
	for _, t := range v.set.templates[namespace] {
		if !selector.Matches(labels.Set(t.labels)) {
			continue
		}
		if of != nil || !t.of.Changes || podsOf(t.of.After) == 0 {
			return 0, nil, false
		}
		of = t.of
	}
	if of == nil || v.set.hasCustom(namespace) || !v.isAlone(of, selector) || v.mayScale(of) || v.othersHave(of, selector) {
		return 0, nil, false
	}
	return podsOf(of.After), of, true
}

// isAlone reports whether the selector certainly matches no Pods of another workload.
func (v *view) isAlone(of *Object, selector labels.Selector) bool {
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		live, sure := v.List(diagnose.KindOf("apps/v1", kind), of.Ref.Namespace)
		if !sure {
			return false
		}
		for _, u := range live {
			t, ok := templateOf(u)
			if ok && object.RefOf(u).Key() != of.Ref.Key() && selector.Matches(labels.Set(t.labels)) {
				return false
			}
		}
	}
	return true
}

func (v *view) othersHave(of *Object, selector labels.Selector) bool {
	pods, sure := v.podsBy(of.Ref.Namespace, selector)
	return !sure || slices.ContainsFunc(pods, func(u *unstructured.Unstructured) bool { return !isOf(u, []template{{of: of}}) })
}

func (v *view) mayScale(of *Object) bool {
	name, sure := v.scaler(of)
	return !sure || name != ""
}

// replicas reports autoscaled workloads that will drop to one replica, the server's default.
// Usually the manifest no longer sets the replicas, as every guide to autoscaling recommends, but
// the manager that applied them still owns the field.
func (v *view) replicas() []event.Remarked {
	var out []event.Remarked
	for i := range v.set.objects {
		o := &v.set.objects[i]
		if !o.Changes || o.Before == nil || o.Ref.GVK.Group != "apps" || podsOf(o.Before) <= 1 || podsOf(o.After) != 1 {
			continue
		}
		name, _ := v.scaler(o)
		if name == "" {
			continue
		}
		out = append(out, event.Remarked{
			Ref: o.Ref, Code: "ReplicasReset", Path: ".spec.replicas",
			Text: fmt.Sprintf("%s will be reduced to 1, although HorizontalPodAutoscaler %s scales this workload", text.Count(int(podsOf(o.Before)), "replica"), text.Excerpt(name)),
			Hint: "to keep the value, give up the field first: " + give(o, ".spec.replicas"),
		})
	}
	return out
}

func give(o *Object, path string) string {
	return command.Kubectl("k8sconnect", "give") + " " + o.Ref.Resource() + " " + path + " -n " + o.Ref.Namespace + " --to=kube-controller-manager"
}

func (v *view) scaler(of *Object) (name string, sure bool) {
	gvk := schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	live, sure := v.List(gvk, of.Ref.Namespace)
	for _, o := range v.set.ofKind(gvk.Group, gvk.Kind, of.Ref.Namespace) {
		live = append(live, o.After)
	}
	for _, u := range live {
		target := func(field string) string { return diagnose.Text(u, "spec", "scaleTargetRef", field) }
		if target("name") == of.Ref.Name && target("kind") == of.Ref.GVK.Kind {
			return u.GetName(), sure
		}
	}
	return "", sure
}
