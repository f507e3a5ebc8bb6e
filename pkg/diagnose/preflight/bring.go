package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// isMadeForAll reports whether a controller makes an object of that name in every namespace.
func isMadeForAll(ref object.Ref) bool {
	return slices.Contains([]string{"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert", "default"}, ref.Name)
}

// isFilledByOthers reports whether the object says that somebody adds to its data.
func isFilledByOthers(u *unstructured.Unstructured) bool {
	for _, words := range []map[string]string{u.GetAnnotations(), u.GetLabels()} {
		for word := range words {
			lower := strings.ToLower(word)
			for _, part := range []string{"inject", "replicat", "reflect", "reloader", "sync", "trust"} {
				if strings.Contains(lower, part) {
					return true
				}
			}
		}
	}
	return len(u.GetOwnerReferences()) > 0
}

// mayBring reports whether another object of the set names the one that is missing in a way
// that whoever creates such objects would: a custom resource, an argument of a program, an
// annotation, an Ingress whose certificate is issued, a right on that very name or to make
// any. The object that needs it, and those that only refer to it in their Pods, do not count.
func (s *set) mayBring(ref object.Ref, by *Object) bool {
	for i := range s.objects {
		o := &s.objects[i]
		if o != by && o.After != nil && mayBring(o, ref) {
			return true
		}
	}
	return false
}

func mayBring(o *Object, ref object.Ref) bool {
	name := ref.Name
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
	case allowsMaking(o, ref):
		return true
	case isCustom(gk.Group):
		// Many operators name what they make after the object: its name, and more.
		return strings.Contains(name, o.Ref.Name) || anywhere(o.After.Object["spec"], name)
	case gk.Kind == "Ingress", gk.Kind == "Role", gk.Kind == "ClusterRole", gk.Kind == "ConfigMap":
		for _, field := range []string{"spec", "rules", "data"} {
			if anywhere(o.After.Object[field], name) {
				return true
			}
		}
	}
	return false
}

// allowsMaking reports whether an object is a role by which a program of the set may make
// such objects, by whatever names.
func allowsMaking(o *Object, ref object.Ref) bool {
	if o.Ref.GVK.Group != "rbac.authorization.k8s.io" || o.Ref.GVK.Kind == "Role" && o.Ref.Namespace != ref.Namespace {
		return false
	}
	resource := strings.ToLower(ref.GVK.Kind) + "s"
	for _, rule := range diagnose.Items(o.After, "rules") {
		holds := func(field string, words ...string) bool {
			stated, _ := rule[field].([]any)
			return slices.ContainsFunc(stated, func(item any) bool { return slices.Contains(append(words, "*"), fmt.Sprint(item)) })
		}
		if holds("verbs", "create") && holds("resources", resource) {
			return true
		}
	}
	return false
}

// says reports whether a program of the template is told a name.
func (t template) says(name string) bool {
	for _, c := range slices.Concat(t.spec.InitContainers, t.spec.Containers) {
		for _, said := range slices.Concat(c.Command, c.Args) {
			if mentions(said, name) {
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

// isCustom reports whether kinds of the group are, as far as one can tell, not Kubernetes' own.
func isCustom(group string) bool {
	return !slices.Contains([]string{
		"", "apps", "batch", "autoscaling", "policy", "networking.k8s.io", "storage.k8s.io", "rbac.authorization.k8s.io",
		"apiextensions.k8s.io", "apiregistration.k8s.io", "admissionregistration.k8s.io", "scheduling.k8s.io", "node.k8s.io",
		"coordination.k8s.io", "discovery.k8s.io", "certificates.k8s.io", "flowcontrol.apiserver.k8s.io", "events.k8s.io",
	}, group)
}

// anywhere reports whether a text somewhere in the value mentions the name.
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

// mentions reports whether the name stands in the text as a word.
func mentions(said, name string) bool {
	isPart := func(b byte) bool {
		return b == '-' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
	}
	for at := 0; name != ""; at++ {
		next := strings.Index(said[at:], name)
		if next < 0 {
			return false
		}
		at += next
		end := at + len(name)
		if (at == 0 || !isPart(said[at-1])) && (end == len(said) || !isPart(said[end])) {
			return true
		}
	}
	return false
}

func names(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
