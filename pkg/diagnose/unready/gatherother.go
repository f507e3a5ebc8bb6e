package unready

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// service reads what is behind a Service.
func (g *gathering) service(ctx context.Context, u *unstructured.Unstructured) {
	s, ok := as[corev1.Service](u)
	if !ok || s.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	every := func(*unstructured.Unstructured) bool { return true }
	together(func() {
		which := object.Selection{Namespace: s.Namespace, Labels: discoveryv1.LabelServiceName + "=" + s.Name}
		g.each(ctx, endpointSlice(), which, "", every)
	}, func() {
		if len(s.Spec.Selector) > 0 {
			g.pods(ctx, s.Namespace, labels.SelectorFromSet(s.Spec.Selector).String(), every)
		}
	})
}

// ingress reads the class of an Ingress, and whether what it names is there.
func (g *gathering) ingress(ctx context.Context, u *unstructured.Unstructured) {
	i, ok := as[networkingv1.Ingress](u)
	if !ok {
		return
	}
	var steps []func()
	if class := i.Spec.IngressClassName; class != nil {
		steps = append(steps, func() { g.read(ctx, ref(networking("IngressClass"), "", *class)) })
	}
	services, secrets := ingressRefs(i)
	for _, service := range services[:min(detail, len(services))] {
		steps = append(steps, func() { g.exists(ctx, ref(core("Service"), i.Namespace, service)) })
	}
	for _, secret := range secrets[:min(detail, len(secrets))] {
		steps = append(steps, func() { g.exists(ctx, ref(core("Secret"), i.Namespace, secret)) })
	}
	together(steps...)
}

// definition reads the other definitions of a group, if one of them has a name
// that this one asks for.
func (g *gathering) definition(ctx context.Context, u *unstructured.Unstructured) {
	if conditionOf(u, "NamesAccepted").Status != "False" {
		return
	}
	g.each(ctx, definition(), object.Selection{}, "", func(other *unstructured.Unstructured) bool {
		if groupOf(other) != groupOf(u) {
			return false
		}
		unstructured.RemoveNestedField(other.Object, "spec", "versions") // Schemas are large.
		return true
	})
}

// apiService reads the Service of an aggregated API, and what is behind it.
func (g *gathering) apiService(ctx context.Context, u *unstructured.Unstructured) {
	backend, ok := serviceOf(u)
	if !ok || conditionOf(u, "Available").Status == "True" {
		return
	}
	if s := g.read(ctx, backend); s != nil {
		g.service(ctx, s)
	}
}

func (g *gathering) autoscaler(ctx context.Context, u *unstructured.Unstructured) {
	if conditionOf(u, "ScalingActive").Reason == "FailedGetResourceMetric" {
		g.exists(ctx, ref(apiService(), "", resourceMetrics))
	}
}

// custom reads what became of an object of a kind that we do not know. Only where
// its controller seems not to act, it is looked for.
func (g *gathering) custom(ctx context.Context, u *unstructured.Unstructured) {
	if !strings.Contains(u.GroupVersionKind().Group, ".") {
		return // One of Kubernetes' own: no operator makes anything of it.
	}
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	var steps []func()
	if u.GetNamespace() != "" {
		steps = append(steps, func() { g.owned(ctx, u) })
	}
	if len(status) == 0 || isStale(u) != nil {
		steps = append(steps, func() { g.definitionOf(ctx, u) }, func() { g.controllers(ctx, u) })
	}
	together(steps...)
}

// definitionOf reads the definition of the object's kind. Its name has the plural,
// which mostly is the usual one.
func (g *gathering) definitionOf(ctx context.Context, u *unstructured.Unstructured) {
	gvk := u.GroupVersionKind()
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	crd, err := g.reader.Read(ctx, ref(definition(), "", plural.Resource+"."+gvk.Group))
	if err == nil && defines(crd, u) {
		g.add(crd)
		return
	}
	g.each(ctx, definition(), object.Selection{}, "", func(crd *unstructured.Unstructured) bool { return defines(crd, u) })
}

// controllers reads the workloads that may be the object's controller, wherever
// they are.
func (g *gathering) controllers(ctx context.Context, u *unstructured.Unstructured) {
	manager := statusManager(u)
	if manager == "kube-controller-manager" {
		return
	}
	var steps []func()
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		steps = append(steps, func() {
			g.each(ctx, apps(kind), object.Selection{}, "", func(w *unstructured.Unstructured) bool {
				if manager != "" {
					return isManager(w, manager)
				}
				return slices.ContainsFunc(appLabels(), func(label string) bool { return w.GetLabels()[label] != "" })
			})
		})
	}
	together(steps...)
}
