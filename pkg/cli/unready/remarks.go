package unready

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose/unready"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// services finds the Services that select no Pod, while the Pods are read.
type services struct {
	idle map[string][]*selecting // by namespace
}

type selecting struct {
	service  corev1.Service
	selector labels.Selector
}

// servicesIn returns the Services that should select a Pod: not those of workloads without replicas.
func servicesIn(known *snapshot) *services {
	out := &services{idle: map[string][]*selecting{}}
	l := known.kinds[diagnose.KindOf("v1", "Service")]
	if l == nil {
		return nil
	}
	scaledDown := templatesWithoutReplicas(known)
	l.each(object.Selection{}, labels.Everything(), func(u *unstructured.Unstructured) {
		service, ok := diagnose.As[corev1.Service](u)
		if !ok || len(service.Spec.Selector) == 0 || service.Spec.Type == corev1.ServiceTypeExternalName {
			return
		}
		one := &selecting{service, labels.SelectorFromSet(service.Spec.Selector)}
		if !slices.ContainsFunc(scaledDown[service.Namespace], func(set labels.Set) bool { return one.selector.Matches(set) }) {
			out.idle[service.Namespace] = append(out.idle[service.Namespace], one)
		}
	})
	return out
}

// templatesWithoutReplicas returns, by namespace, the labels of the Pods that workloads would create
// if they were scaled up.
func templatesWithoutReplicas(known *snapshot) map[string][]labels.Set {
	out := map[string][]labels.Set{}
	for _, gvk := range []schema.GroupVersionKind{diagnose.KindOf("apps/v1", "Deployment"), diagnose.KindOf("apps/v1", "StatefulSet")} {
		l := known.kinds[gvk]
		if l == nil {
			continue
		}
		l.each(object.Selection{}, labels.Everything(), func(u *unstructured.Unstructured) {
			if replicas, found, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); found && replicas == 0 {
				set, _, _ := unstructured.NestedStringMap(u.Object, "spec", "template", "metadata", "labels")
				out[u.GetNamespace()] = append(out[u.GetNamespace()], set)
			}
		})
	}
	return out
}

// see removes the Services that select the Pod. The receiver may be nil.
func (s *services) see(pod *unstructured.Unstructured) {
	if s == nil || len(s.idle[pod.GetNamespace()]) == 0 || diagnose.Text(pod, "status", "phase") == string(corev1.PodSucceeded) {
		return
	}
	set := labels.Set(pod.GetLabels())
	s.idle[pod.GetNamespace()] = slices.DeleteFunc(s.idle[pod.GetNamespace()], func(one *selecting) bool { return one.selector.Matches(set) })
}

// remarks returns the remarks on ready Services that select no Pod, and on Ingresses that nothing
// answers.
func (s *search) remarks(ctx context.Context) []event.Remarked {
	isUnready := map[object.Ref]bool{}
	for _, one := range s.unready {
		isUnready[one.ref] = true
	}
	var found []event.Remarked
	if s.services != nil && s.readAll(pods()) && s.readAll(diagnose.KindOf("v1", "Service")) {
		for _, idle := range s.services.idle {
			for _, one := range idle {
				if remark := unready.SelectsNothing(&one.service); !isUnready[remark.Ref] {
					found = append(found, remark)
				}
			}
		}
	}
	var refs []object.Ref
	if l := s.known.kinds[ingresses()]; l != nil {
		for _, objects := range l.objects {
			for _, e := range objects {
				if !isUnready[e.ref] {
					refs = append(refs, e.ref)
				}
			}
		}
	}
	slices.SortFunc(refs, object.Ref.Compare)
	found = append(found, unready.UnansweredOf(ctx, s.known, mostRequests, refs)...)
	slices.SortStableFunc(found, func(a, b event.Remarked) int { return a.Ref.Compare(b.Ref) })
	return found
}

// readAll reports whether all objects of a kind were read.
func (s *search) readAll(gvk schema.GroupVersionKind) bool {
	return s.done[gvk] && s.labels == "" && !slices.ContainsFunc(s.unread, func(u event.Unread) bool { return u.Ref.GVK == gvk })
}
