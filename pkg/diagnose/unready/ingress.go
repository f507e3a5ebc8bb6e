package unready

import (
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready/rule"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

func (v *rules) ingress(i *networkingv1.Ingress) []rule.Finding {
	r := diagnose.RefOf("networking.k8s.io/v1", "Ingress", i.Namespace, i.Name)
	found := v.backends(i)
	if len(i.Status.LoadBalancer.Ingress) > 0 {
		return found
	}
	c := event.Cause{
		Code:     "IngressNoAddress",
		Message:  rule.Name(r) + " has no address yet: no controller has set one",
		Evidence: []string{".status.loadBalancer.ingress is empty"},
		Next:     rule.Kubectl("", "get", "ingressclasses"),
	}
	if lack, ok := v.lacksClass(i); ok {
		lack.Evidence = append(c.Evidence, lack.Evidence...)
		c = lack
	} else {
		c.Evidence = append(c.Evidence, v.classOf(i)...)
	}
	e := append(slices.Clone(v.Warnings(i)), nil)[0]
	c.Evidence = append(c.Evidence, rule.Quoted(e)...)
	return append(found, rule.Finding{Cause: c, Rank: rule.Root})
}

// lacksClass returns the cause if no controller handles an Ingress: its class does not exist, or it
// has none and there is no default.
func (v *rules) lacksClass(i *networkingv1.Ingress) (event.Cause, bool) {
	r := diagnose.RefOf("networking.k8s.io/v1", "Ingress", i.Namespace, i.Name)
	c := event.Cause{Next: rule.Kubectl("", "get", "ingressclasses")}
	switch class := i.Spec.IngressClassName; {
	case class != nil:
		named := diagnose.RefOf("networking.k8s.io/v1", "IngressClass", "", *class)
		if slices.Contains([]string{"gce", "gce-internal"}, *class) || !v.Absent(named) {
			return c, false // GKE handles these classes without an IngressClass object.
		}
		c.Code, c.BlockedBy = "IngressClassMissing", named
		c.Message = rule.Name(r) + " has no address: IngressClass " + text.Excerpt(*class) + " does not exist"
		return c, true
	case i.Annotations["kubernetes.io/ingress.class"] != "":
		return c, false
	}
	c.Code, c.Message = "NoIngressClass", rule.Name(r)+" has no address: it has no IngressClass, and there is no default"
	return c, true
}

// classOf returns evidence about the class of an Ingress.
func (v *rules) classOf(i *networkingv1.Ingress) []string {
	if class := i.Spec.IngressClassName; class != nil {
		u, _ := v.Read(diagnose.RefOf("networking.k8s.io/v1", "IngressClass", "", *class))
		if k, ok := rule.As[networkingv1.IngressClass](v.View, u); ok {
			return []string{"IngressClass " + *class + " belongs to controller " + text.Excerpt(k.Spec.Controller)}
		}
		return nil
	}
	return []string{"annotation kubernetes.io/ingress.class is " + text.Excerpt(i.Annotations["kubernetes.io/ingress.class"])}
}

// unhandled returns a finding if no controller handles the Ingress: it has no address, and it lacks a
// class. A controller that has set an address handles it in any case.
func (v *rules) unhandled(i *networkingv1.Ingress) []rule.Finding {
	if len(i.Status.LoadBalancer.Ingress) > 0 {
		return nil
	}
	c, ok := v.lacksClass(i)
	if !ok || c.Code == "NoIngressClass" && !v.noDefaultClass() {
		return nil
	}
	return []rule.Finding{{Cause: c, Rank: rule.Root}}
}

// noDefaultClass reports whether it is certain that no IngressClass is the default.
func (v *rules) noDefaultClass() bool {
	defaults, sure := v.Select(diagnose.Question{GVK: diagnose.KindOf("networking.k8s.io/v1", "IngressClass")}, func(u *unstructured.Unstructured) bool {
		return u.GetAnnotations()[networkingv1.AnnotationIsDefaultIngressClass] == "true"
	})
	return sure && len(defaults) == 0
}

func (v *rules) backends(i *networkingv1.Ingress) []rule.Finding {
	r := diagnose.RefOf("networking.k8s.io/v1", "Ingress", i.Namespace, i.Name)
	services, secrets := ingressRefs(i)
	var found []rule.Finding
	for _, kind := range []string{"Service", "Secret"} {
		names := map[string][]string{"Service": services, "Secret": secrets}[kind]
		for _, named := range names[:min(rule.MostDetailed, len(names))] {
			missing := diagnose.RefOf("v1", kind, i.Namespace, named)
			if !v.Absent(missing) {
				continue
			}
			found = append(found, rule.Finding{Rank: rule.Root, Cause: event.Cause{
				Code:      kind + "Missing",
				Message:   rule.Name(r) + " needs " + kind + " " + named + ", which does not exist",
				Evidence:  []string{rule.Name(missing) + " is not found"},
				Next:      rule.Kubectl(i.Namespace, "get", strings.ToLower(kind)+"s"),
				BlockedBy: missing,
			}})
		}
	}
	return found
}

func ingressRefs(i *networkingv1.Ingress) (services, secrets []string) {
	add := func(b *networkingv1.IngressBackend) {
		if b != nil && b.Service != nil {
			services = append(services, b.Service.Name)
		}
	}
	add(i.Spec.DefaultBackend)
	for _, rule := range i.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, path := range rule.HTTP.Paths {
			add(&path.Backend)
		}
	}
	for _, tls := range i.Spec.TLS {
		secrets = append(secrets, tls.SecretName)
	}
	return rule.Distinct(services), rule.Distinct(secrets)
}
