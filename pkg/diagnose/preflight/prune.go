package preflight

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Losses reports of each object of a set what it still needs of the objects that a prune
// deletes, and the object that goes with one of them although it stays in the set. It asks
// nothing.
func Losses(objects []*unstructured.Unstructured, pruned []object.Ref) []event.Remarked {
	goes := map[object.Key]object.Ref{}
	for _, ref := range pruned {
		goes[ref.Key()] = ref
	}
	var out []event.Remarked
	for _, u := range objects {
		of := Object{Ref: object.RefOf(u), After: u}
		told := map[object.Key]bool{}
		for _, n := range dependsOn(&of) {
			ref, lost := goes[n.ref.Key()]
			if !lost || told[ref.Key()] {
				continue
			}
			told[ref.Key()] = true
			r := event.Remarked{
				Ref: of.Ref, Code: "NeedsPruned", Path: n.path,
				Text: fmt.Sprintf("%s %s left the input and is pruned, and this object still needs it", ref.GVK.Kind, text.Excerpt(ref.Name)),
				Hint: "put it back into the input, or change this object",
			}
			if n.with {
				r.Code = "GoesWithPruned"
				r.Text = fmt.Sprintf("goes with %s %s, which left the input and is pruned, although this object is still in the input", ref.GVK.Kind, text.Excerpt(ref.Name))
				r.Hint = "put that back into the input, or take this object out, too"
			}
			out = append(out, r)
		}
	}
	return out
}

// dependency is an object that another one needs. with: the cluster deletes the other one with
// it.
type dependency struct {
	need
	with bool
}

// dependsOn returns what an object names that has to exist for it.
func dependsOn(of *Object) []dependency {
	var all []dependency
	add := func(gvk schema.GroupVersionKind, namespace, name, path string, with bool) {
		if name != "" {
			all = append(all, dependency{need{refOf(gvk, namespace, name), "", path}, with})
		}
	}
	u, namespace := of.After, of.Ref.Namespace
	if account := u.GetAnnotations()[corev1.ServiceAccountNameKey]; of.Ref.GVK.Kind == "Secret" && of.Ref.GVK.Group == "" {
		add(core("ServiceAccount"), namespace, account, `.metadata.annotations["`+corev1.ServiceAccountNameKey+`"]`, true)
	}
	for _, owner := range u.GetOwnerReferences() {
		add(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind), namespace, owner.Name, ".metadata.ownerReferences", true)
	}
	if t, ok := templateOf(u); ok {
		t.of = of
		add(core("ServiceAccount"), namespace, t.spec.ServiceAccountName, t.path+".serviceAccountName", false)
		for _, n := range t.needs() {
			all = append(all, dependency{need: n})
		}
	}
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	switch of.Ref.GVK.GroupKind().String() {
	case "RoleBinding." + rbac.Group, "ClusterRoleBinding." + rbac.Group:
		kind, _, _ := unstructured.NestedString(u.Object, "roleRef", "kind")
		name, _, _ := unstructured.NestedString(u.Object, "roleRef", "name")
		if kind == "ClusterRole" {
			namespace = ""
		}
		add(rbac.WithKind(kind), namespace, name, ".roleRef", false)
	case "Ingress.networking.k8s.io":
		for _, name := range backends(u) {
			add(core("Service"), namespace, name, ".spec.rules", false)
		}
	case "HorizontalPodAutoscaler.autoscaling":
		target, _, _ := unstructured.NestedStringMap(u.Object, "spec", "scaleTargetRef")
		add(schema.FromAPIVersionAndKind(target["apiVersion"], target["kind"]), namespace, target["name"], ".spec.scaleTargetRef", false)
	}
	return all
}

// backends returns the Services that an Ingress sends requests to.
func backends(u *unstructured.Unstructured) []string {
	var all []string
	add := func(fields any) {
		backend, _ := fields.(map[string]any)
		name, _, _ := unstructured.NestedString(backend, "service", "name")
		all = append(all, name)
	}
	spec, _ := u.Object["spec"].(map[string]any)
	add(spec["defaultBackend"])
	rules, _, _ := unstructured.NestedSlice(spec, "rules")
	for _, rule := range rules {
		rule, _ := rule.(map[string]any)
		paths, _, _ := unstructured.NestedSlice(rule, "http", "paths")
		for _, path := range paths {
			path, _ := path.(map[string]any)
			add(path["backend"])
		}
	}
	return all
}
