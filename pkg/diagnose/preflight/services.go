package preflight

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func (v *view) services() []event.Remarked {
	var out []event.Remarked
	changes := func(t template) bool { return t.of.Changes }
	for i := range v.set.objects {
		o := &v.set.objects[i]
		if o.Ref.GVK != diagnose.KindOf("v1", "Service") || !o.Changes && !slices.ContainsFunc(v.set.templates[o.Ref.Namespace], changes) {
			continue
		}
		s, ok := typedAs[corev1.Service](o.After)
		if !ok || len(s.Spec.Selector) == 0 || s.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		if r, ok := v.service(o, s); ok {
			out = append(out, r)
		}
	}
	return out
}

func (s *set) hasCustom(namespace string) bool {
	return slices.ContainsFunc(s.objects, func(o Object) bool {
		return !object.IsBuiltIn(o.Ref.GVK.Group) && (o.Ref.Namespace == namespace || o.Ref.Namespace == "")
	})
}

func (v *view) service(o *Object, s *corev1.Service) (event.Remarked, bool) {
	selector := labels.SelectorFromSet(s.Spec.Selector)
	var matching []template
	for _, t := range v.set.templates[o.Ref.Namespace] {
		if v.set.maySelect(s.Spec.Selector, t) {
			matching = append(matching, t)
		}
	}
	if v.set.hasCustom(o.Ref.Namespace) {
		return event.Remarked{}, false
	}
	if len(matching) == 0 {
		return v.selectsNothing(o, s, selector)
	}
	return v.lacksPort(o, s, selector, matching)
}

func (v *view) selectsNothing(o *Object, s *corev1.Service, selector labels.Selector) (event.Remarked, bool) {
	if pods, sure := v.podsBy(o.Ref.Namespace, selector); !sure || len(pods) > 0 {
		return event.Remarked{}, false
	}
	for _, gvk := range []schema.GroupVersionKind{
		diagnose.KindOf("apps/v1", "Deployment"), diagnose.KindOf("apps/v1", "StatefulSet"), diagnose.KindOf("apps/v1", "DaemonSet"), diagnose.KindOf("apps/v1", "ReplicaSet"), diagnose.KindOf("v1", "ReplicationController"),
		{Group: "batch", Version: "v1", Kind: "CronJob"},
	} {
		live, sure := v.List(gvk, o.Ref.Namespace)
		if !sure || slices.ContainsFunc(live, func(u *unstructured.Unstructured) bool {
			t, ok := templateOf(u)
			t.of = &Object{Ref: object.RefOf(u), After: u}
			return !ok || v.set.maySelect(s.Spec.Selector, t) && !v.set.replaces(u)
		}) {
			return event.Remarked{}, false
		}
	}
	r := event.Remarked{
		Ref: o.Ref, Code: "SelectorMatchesNothing", Path: ".spec.selector",
		Text: fmt.Sprintf("%s matches no Pod in this set or in the cluster, so the Service has no endpoints", text.Excerpt(selector.String())),
		Hint: "set these labels in the Pod template, or correct the selector",
	}
	if near := v.nearestLabels(o.Ref.Namespace, s.Spec.Selector); near != "" {
		r.Hint = near
	}
	return r, true
}

func (s *set) replaces(u *unstructured.Unstructured) bool {
	return s.find(object.RefOf(u)) != nil || slices.ContainsFunc(s.templates[u.GetNamespace()], func(t template) bool {
		return slices.ContainsFunc(u.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
			return owner.Kind == t.of.Ref.GVK.Kind && owner.Name == t.of.Ref.Name
		})
	})
}

// nearestLabels finds a template in which only one label differs, and only slightly.
func (v *view) nearestLabels(namespace string, selector map[string]string) string {
	for _, t := range v.set.templates[namespace] {
		var differing []string
		for key, want := range selector {
			if has, ok := t.labels[key]; ok && has != want && text.Similar(want, has) {
				differing = append(differing, fmt.Sprintf("%s has %s=%s", t.of.Ref.Resource(), key, has))
			} else if has != want {
				differing = append(differing, "", "")
			}
		}
		if len(differing) == 1 {
			return "did you mean another label? The template of " + text.Excerpt(differing[0])
		}
	}
	return ""
}

// lacksPort stays silent unless all Pods behind the Service are known: a Pod of another workload, or a sidecar
// that admission injects, may have the port.
func (v *view) lacksPort(o *Object, s *corev1.Service, selector labels.Selector, matching []template) (event.Remarked, bool) {
	for _, port := range s.Spec.Ports {
		name := port.TargetPort.StrVal
		if port.TargetPort.Type != intstr.String || name == "" {
			continue
		}
		if isInjectedPort(name) || slices.ContainsFunc(matching, func(t template) bool { return t.isInjected() || hasPort(t.spec, name) }) {
			continue
		}
		pods, sure := v.podsBy(o.Ref.Namespace, selector)
		if !sure || slices.ContainsFunc(pods, func(u *unstructured.Unstructured) bool { return !isOf(u, matching) }) {
			continue
		}
		r := event.Remarked{
			Ref: o.Ref, Code: "TargetPortMissing", Path: fmt.Sprintf(".spec.ports[port=%d,protocol=%q].targetPort", port.Port, cmp.Or(port.Protocol, corev1.ProtocolTCP)),
			Text: fmt.Sprintf("none of the selected Pods has a container port named %s, so nothing answers on port %d", text.Excerpt(name), port.Port),
			Hint: "set this name on a container port, or use the port's number",
		}
		if near := text.Nearest(name, ports(matching)); near != "" {
			r.Hint = "did you mean " + near + "?"
		}
		return r, true
	}
	return event.Remarked{}, false
}

func hasPort(spec *corev1.PodSpec, name string) bool {
	return slices.ContainsFunc(slices.Concat(spec.InitContainers, spec.Containers), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == name })
	})
}

func ports(templates []template) []string {
	var names []string
	for _, t := range templates {
		for _, c := range t.spec.Containers {
			for _, p := range c.Ports {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// isOf reports whether the Pod belongs to one of the templates. Such a Pod either has the
// template's ports already, or will be replaced by a Pod that has them.
func isOf(pod *unstructured.Unstructured, templates []template) bool {
	owner := pod.GetOwnerReferences()
	for _, t := range templates {
		ref := t.of.Ref
		switch {
		case len(owner) == 0:
			if ref.GVK.Kind == "Pod" && ref.Name == pod.GetName() {
				return true
			}
		case ref.GVK.Kind == "Deployment" && owner[0].Kind == "ReplicaSet":
			if rest, ok := strings.CutPrefix(owner[0].Name, ref.Name+"-"); ok && !strings.Contains(rest, "-") {
				return true
			}
		case owner[0].Kind == ref.GVK.Kind && owner[0].Name == ref.Name:
			return true
		}
	}
	return false
}

func (v *view) podsBy(namespace string, selector labels.Selector) ([]*unstructured.Unstructured, bool) {
	a, sure := v.Collect(diagnose.Question{
		Verb: diagnose.List, GVK: diagnose.KindOf("v1", "Pod"), Namespace: namespace, Labels: selector.String(), Kept: "Pods matched by preflight",
	}, diagnose.Matching(func(*unstructured.Unstructured) bool { return true }))
	return a.Objects, sure
}

// variables reports each $(NAME) that Kubernetes does not replace. It reports nothing if some
// variables are unknown, or if the string may be for a shell or another program.
func variables(s *set) []event.Remarked {
	var out []event.Remarked
	for _, t := range s.fresh() {
		reported := map[string]bool{}
		t.visitContainers(func(c corev1.Container, at string) {
			if len(c.EnvFrom) > 0 || t.isInjected() {
				return
			}
			look := func(message, path string) {
				for _, name := range undefined(c, message) {
					if reported[at+name] {
						continue
					}
					reported[at+name] = true
					out = append(out, undefinedIn(t.of.Ref, t.path+at+path, name))
				}
			}
			for _, message := range c.Command {
				look(message, ".command")
			}
			for _, message := range c.Args {
				look(message, ".args")
			}
			for _, env := range c.Env {
				look(env.Value, fmt.Sprintf(".env[name=%q].value", env.Name))
			}
		})
	}
	return out
}

func undefinedIn(ref object.Ref, path, name string) event.Remarked {
	r := event.Remarked{
		Ref: ref, Code: "VariableUndefined", Path: path,
		Text: fmt.Sprintf("the container does not define the variable in $(%s), so the program gets $(%s) unchanged", name, name),
		Hint: fmt.Sprintf("define %s in the container's env, or write $$(%s) for the literal text", name, name),
	}
	if field := downward(name); field != "" {
		r.Hint = fmt.Sprintf("add to the container's env: {name: %s, valueFrom: {fieldRef: {fieldPath: %s}}}", name, field)
	}
	return r
}

// downward returns the field of a Pod that a variable of that name usually holds.
func downward(name string) string {
	switch strings.TrimPrefix(strings.TrimPrefix(name, "MY_"), "K8S_") {
	case "POD_NAME":
		return "metadata.name"
	case "POD_NAMESPACE", "NAMESPACE":
		return "metadata.namespace"
	case "POD_UID":
		return "metadata.uid"
	case "POD_IP":
		return "status.podIP"
	case "NODE_NAME":
		return "spec.nodeName"
	case "HOST_IP", "NODE_IP":
		return "status.hostIP"
	case "SERVICE_ACCOUNT", "POD_SERVICE_ACCOUNT":
		return "spec.serviceAccountName"
	}
	return ""
}

func undefined(c corev1.Container, message string) []string {
	if strings.Contains(message, "\n") {
		return nil // a script, with its own syntax
	}
	var names []string
	for _, match := range regexp.MustCompile(`\$\$|\$\(([A-Z][A-Z0-9_]*)\)`).FindAllStringSubmatch(message, -1) {
		name := match[1]
		defined := slices.ContainsFunc(c.Env, func(env corev1.EnvVar) bool { return env.Name == name })
		if name != "" && !defined && !isOfService(name) && !isInjectedVariable(name) {
			names = append(names, name)
		}
	}
	return names
}

// Kubernetes sets variables with such names for each Service.
func isOfService(name string) bool {
	return strings.HasPrefix(name, "KUBERNETES_") || strings.HasSuffix(name, "_SERVICE_HOST") ||
		strings.Contains(name, "_SERVICE_PORT") || strings.HasSuffix(name, "_PORT") || strings.Contains(name, "_PORT_")
}
