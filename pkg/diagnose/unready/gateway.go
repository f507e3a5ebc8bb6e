package unready

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const gatewayGroup = "gateway.networking.k8s.io"

// references says which objects do not exist that an object of the Gateway API refers to:
// without them, no controller answers, and the object says nothing of itself.
func (v *rules) references(u *unstructured.Unstructured) []rule.Finding {
	if u.GroupVersionKind().Group != gatewayGroup {
		return nil
	}
	var refs []object.Ref
	switch kind := u.GetKind(); {
	case kind == "Gateway":
		class, _, _ := unstructured.NestedString(u.Object, "spec", "gatewayClassName")
		refs = append(refs, rule.Ref(gatewayKind("GatewayClass"), "", class))
	case strings.HasSuffix(kind, "Route"):
		refs = append(refs, namedBy(u, gatewayKind("Gateway"), "spec", "parentRefs")...)
		rules, _, _ := unstructured.NestedSlice(u.Object, "spec", "rules")
		for _, r := range rules {
			if one, ok := r.(map[string]any); ok {
				refs = append(refs, namedBy(&unstructured.Unstructured{Object: map[string]any{
					"metadata": u.Object["metadata"], "backendRefs": one["backendRefs"],
				}}, rule.Core("Service"), "backendRefs")...)
			}
		}
	}
	slices.SortFunc(refs, object.Ref.Compare)
	refs = slices.Compact(refs)
	var found []rule.Finding
	for _, r := range refs[:min(rule.MostDetailed, len(refs))] {
		if r.Name == "" || !v.Absent(r) {
			continue
		}
		found = append(found, rule.Finding{Rank: rule.Root, Cause: event.Cause{
			Code:      "ReferenceMissing",
			Message:   rule.Name(object.RefOf(u)) + " needs " + r.GVK.Kind + " " + rule.Name(r) + ", which does not exist",
			Evidence:  []string{rule.Name(r) + " is not found"},
			Next:      rule.Kubectl(r.Namespace, "get", strings.TrimSuffix(r.Resource(), "/"+r.Name)),
			BlockedBy: r,
		}})
	}
	return found
}

func gatewayKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: gatewayGroup, Version: "v1", Kind: kind}
}

// namedBy returns the objects of one kind in a list of references. Those of other kinds are
// left out: at which version they are served is not known here.
func namedBy(u *unstructured.Unstructured, gvk schema.GroupVersionKind, path ...string) []object.Ref {
	list, _, _ := unstructured.NestedSlice(u.Object, path...)
	var refs []object.Ref
	for _, item := range list {
		one, ok := item.(map[string]any)
		if !ok {
			continue
		}
		name, _ := one["name"].(string)
		namespace, _ := one["namespace"].(string)
		kind, hasKind := one["kind"].(string)
		group, hasGroup := one["group"].(string)
		if hasKind && kind != gvk.Kind || hasGroup && group != gvk.Group {
			continue
		}
		if namespace == "" {
			namespace = u.GetNamespace()
		}
		refs = append(refs, rule.Ref(gvk, namespace, name))
	}
	return refs
}
