package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

func isFilledByOthers(u *unstructured.Unstructured) bool {
	if diagnose.Text(u, "type") == string(corev1.SecretTypeServiceAccountToken) {
		return true
	}
	for _, words := range []map[string]string{u.GetAnnotations(), u.GetLabels()} {
		for word := range words {
			lower := strings.ToLower(word)
			for _, part := range []string{"inject", "replicat", "reflect", "reloader", "sync", "trust", "copy", "clone", "cert-manager.io"} {
				if strings.Contains(lower, part) {
					return true
				}
			}
		}
	}
	return len(u.GetOwnerReferences()) > 0
}

// mayBring reports whether another object in the set may cause a missing object to be created. Such
// an object mentions the name of the missing object somewhere other than in a Pod's references, or
// grants the right to create it.
func (s *set) mayBring(ref object.Ref, by *Object) bool {
	for i := range s.objects {
		o := &s.objects[i]
		if o != by && o.After != nil && s.brings(o, ref) {
			return true
		}
	}
	return false
}

func (s *set) brings(o *Object, ref object.Ref) bool {
	name := ref.Name
	if o.Ref.GVK == ref.GVK && o.Ref.Name == name && isFilledByOthers(o.After) {
		return true // A controller copies such an object to other namespaces.
	}
	for _, value := range o.After.GetAnnotations() {
		if mentions(value, name) {
			return true
		}
	}
	if t, ok := templateOf(o.After); ok {
		return t.says(name)
	}
	gk := o.Ref.GVK.GroupKind()
	switch {
	case s.allows(o, ref.Namespace, strings.ToLower(ref.GVK.Kind)+"s", "create"):
		return true
	case !object.IsBuiltIn(gk.Group):
		for field, value := range o.After.Object {
			if !slices.Contains([]string{"metadata", "status", "kind", "apiVersion"}, field) && anywhere(value, name) {
				return true
			}
		}
		return strings.Contains(name, o.Ref.Name) // Many operators name the objects that they create after their custom resources.
	case gk.Kind == "Ingress", gk.Kind == "Role", gk.Kind == "ClusterRole", gk.Kind == "ConfigMap":
		for _, field := range []string{"spec", "rules", "data"} {
			if anywhere(o.After.Object[field], name) {
				return true
			}
		}
	}
	return false
}

// allows reports whether the role or binding may grant one of the verbs to a program in the set.
func (s *set) allows(o *Object, namespace, resource string, verbs ...string) bool {
	if o.After == nil || o.Ref.GVK.Group != "rbac.authorization.k8s.io" || o.Ref.Namespace != "" && o.Ref.Namespace != namespace {
		return false
	}
	switch o.Ref.GVK.Kind {
	case "RoleBinding", "ClusterRoleBinding":
		return s.isUnknownRole(diagnose.Text(o.After, "roleRef", "kind"), o.Ref.Namespace, diagnose.Text(o.After, "roleRef", "name"))
	case "ClusterRole":
		if _, put := o.After.Object["aggregationRule"]; put {
			return true
		}
	}
	for _, rule := range diagnose.Items(o.After, "rules") {
		holds := func(field string, words ...string) bool {
			declared, _ := rule[field].([]any)
			return slices.ContainsFunc(declared, func(item any) bool { return slices.Contains(append(words, "*"), fmt.Sprint(item)) })
		}
		if holds("verbs", verbs...) && holds("resources", resource) {
			return true
		}
	}
	return false
}

// isUnknownRole reports whether the role is neither in the set nor a known default role.
func (s *set) isUnknownRole(kind, namespace, name string) bool {
	if kind == "ClusterRole" {
		namespace = ""
	}
	return name != "view" && name != "extension-apiserver-authentication-reader" && !strings.HasPrefix(name, "system:") &&
		s.find(object.Ref{GVK: schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind}, Namespace: namespace, Name: name}) == nil
}

func (t template) says(name string) bool {
	for _, c := range slices.Concat(t.spec.InitContainers, t.spec.Containers) {
		for _, message := range slices.Concat(c.Command, c.Args) {
			if mentions(message, name) {
				return true
			}
		}
		for _, env := range c.Env {
			if mentions(env.Value, name) {
				return true
			}
		}
	}
	return false
}

func anywhere(value any, name string) bool {
	switch v := value.(type) {
	case string:
		return mentions(v, name)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return anywhere(item, name) })
	case map[string]any:
		for key := range maps.Keys(v) {
			if mentions(key, name) || anywhere(v[key], name) {
				return true
			}
		}
	}
	return false
}

// mentions reports whether a message contains the name as a whole word: web is not a part of web-2.
func mentions(message, name string) bool {
	isPart := func(b byte) bool {
		return b == '-' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
	}
	for at := 0; name != ""; at++ {
		next := strings.Index(message[at:], name)
		if next < 0 {
			return false
		}
		at += next
		end := at + len(name)
		if (at == 0 || !isPart(message[at-1])) && (end == len(message) || !isPart(message[end])) {
			return true
		}
	}
	return false
}

func names(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
