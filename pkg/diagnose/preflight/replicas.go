package preflight

import (
	"fmt"
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

// budgets reports PodDisruptionBudgets that allow no eviction even if all Pods are healthy, so that
// nodes with such Pods cannot be drained.
func (v *view) budgets() []event.Remarked {
	var out []event.Remarked
	for _, o := range v.set.objects {
		if !isBudget(o.Ref) || !o.Changes {
			continue
		}
		if b, ok := typedAs[policyv1.PodDisruptionBudget](o.After); ok {
			out = append(out, v.budget(o.Ref, b, false)...)
		}
	}
	for _, namespace := range v.scaled() {
		live, _ := v.List(schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, namespace)
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

func isBudget(ref object.Ref) bool {
	return ref.GVK.Group == "policy" && ref.GVK.Version == "v1" && ref.GVK.Kind == "PodDisruptionBudget"
}

// scaled returns the namespaces with an object that is new or gets fewer Pods.
func (v *view) scaled() []string {
	var all []string
	for namespace, templates := range v.set.templates {
		for _, t := range templates {
			if comesToHaveFewer(t.of) {
				all = append(all, namespace)
				break
			}
		}
	}
	return sortedTexts(all)
}

// comesToHaveFewer reports whether an object is new or gets fewer Pods.
func comesToHaveFewer(o *Object) bool {
	return o.Changes && podsOf(o.After) > 0 && (o.Before == nil || podsOf(o.After) < podsOf(o.Before))
}

// budget reports on one budget. scaled: the budget stays as it is, and the Pods that it selects
// change.
func (v *view) budget(ref object.Ref, b *policyv1.PodDisruptionBudget, scaled bool) []event.Remarked {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil || b.Spec.Selector == nil {
		return nil
	}
	if most := b.Spec.MaxUnavailable; most != nil {
		if n, err := intstr.GetScaledValueFromIntOrPercent(most, 100, true); scaled || err != nil || n > 0 {
			return nil
		}
		return []event.Remarked{blocked(ref, ".spec.maxUnavailable", "maxUnavailable is "+most.String()+": it allows no eviction, however many Pods are ready")}
	}
	least := b.Spec.MinAvailable
	if least == nil {
		return nil
	}
	if n, err := intstr.GetScaledValueFromIntOrPercent(least, 100, true); least.Type == intstr.String && err == nil && n >= 100 {
		if scaled {
			return nil
		}
		return []event.Remarked{blocked(ref, ".spec.minAvailable", "minAvailable is "+least.String()+": it allows no eviction, however many Pods are ready")}
	}
	pods, of, known := v.selected(ref.Namespace, selector)
	if !known || pods == 0 || scaled && !comesToHaveFewer(of) {
		return nil
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(least, int(pods), true)
	if err != nil || int64(n) < pods {
		return nil
	}
	r := blocked(ref, ".spec.minAvailable", fmt.Sprintf("minAvailable is %s, and %s has %s: it allows no eviction, however many of them are ready",
		least, text.Excerpt(of.Ref.Resource()), text.Count(int(pods), "Pod")))
	if scaled {
		r.Ref, r.Path = of.Ref, ".spec.replicas"
		r.Text = "PodDisruptionBudget " + text.Excerpt(ref.Name) + ": " + r.Text
	}
	return []event.Remarked{r}
}

func blocked(ref object.Ref, path, said string) event.Remarked {
	return event.Remarked{
		Ref: ref, Code: "EvictionBlocked", Path: path,
		Text: said + ", so a node with a ready one cannot be drained",
		Hint: "set maxUnavailable: 1, or more replicas than minAvailable",
	}
}

// selected returns how many Pods a selector matches, and their workload. Both are known only if all
// belong to one workload of the set that nothing else scales.
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

// isAlone reports whether the selector certainly matches no Pods of another Deployment or
// StatefulSet in the cluster.
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

// othersHave reports whether the selector may match Pods in the cluster that are not the object's,
// which a budget counts too.
func (v *view) othersHave(of *Object, selector labels.Selector) bool {
	pods, sure := v.podsBy(of.Ref.Namespace, selector)
	return !sure || slices.ContainsFunc(pods, func(u *unstructured.Unstructured) bool { return !isOf(u, []template{{of: of}}) })
}

// mayScale reports whether something scales the object, or may.
func (v *view) mayScale(of *Object) bool {
	gvk := schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	live, sure := v.List(gvk, of.Ref.Namespace)
	if !sure {
		return true
	}
	for _, o := range v.set.of(gvk.Group, gvk.Kind, of.Ref.Namespace) {
		live = append(live, o.After)
	}
	for _, u := range live {
		if targets(u, of.Ref) {
			return true
		}
	}
	return false
}

func targets(scaler *unstructured.Unstructured, ref object.Ref) bool {
	return diagnose.Text(scaler, "spec", "scaleTargetRef", "name") == ref.Name &&
		diagnose.Text(scaler, "spec", "scaleTargetRef", "kind") == ref.GVK.Kind
}

// replicas reports workloads with an autoscaler that fall to the server's default, one replica:
// mostly the manifest no longer states the replicas, as every page on autoscaling advises, and
// whoever applied them before still owns them.
func (v *view) replicas() []event.Remarked {
	var out []event.Remarked
	for i := range v.set.objects {
		o := &v.set.objects[i]
		if !o.Changes || o.Before == nil || o.Ref.GVK.Group != "apps" || podsOf(o.Before) <= 1 || podsOf(o.After) != 1 {
			continue
		}
		name := v.scaler(o)
		if name == "" {
			continue
		}
		out = append(out, event.Remarked{
			Ref: o.Ref, Code: "ReplicasReset", Path: ".spec.replicas",
			Text: fmt.Sprintf("%s become 1, although HorizontalPodAutoscaler %s scales it", text.Count(int(podsOf(o.Before)), "replica"), text.Excerpt(name)),
			Hint: "give the field up first, and its value stays: " + give(o, ".spec.replicas"),
		})
	}
	return out
}

// give returns the command that leaves a field to the controllers that scale.
func give(o *Object, path string) string {
	return command.Kubectl("k8sconnect", "give") + " " + o.Ref.Resource() + " " + path + " -n " + o.Ref.Namespace + " --to=kube-controller-manager"
}

// scaler returns the name of a HorizontalPodAutoscaler, in the set or in the cluster, that scales
// the object.
func (v *view) scaler(of *Object) string {
	gvk := schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	live, _ := v.List(gvk, of.Ref.Namespace)
	for _, o := range v.set.of(gvk.Group, gvk.Kind, of.Ref.Namespace) {
		live = append(live, o.After)
	}
	for _, u := range live {
		if targets(u, of.Ref) {
			return u.GetName()
		}
	}
	return ""
}
