package diagnose

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Backend is the state of what serves a service.
type Backend struct {
	// Dead is set if nothing can answer there. If it is not set, it may still be dead.
	Dead     bool
	Evidence []string
	// Next is the command that cures it; empty if no cure is known.
	Next string
}

// Backend finds out whether anything serves a service.
func (r *Run) Backend(s Service) Backend {
	ref := RefOf("v1", "Service", s.Namespace, s.Name)
	u, sure := r.Get(ref.GVK, s.Namespace, s.Name)
	if u == nil {
		return Backend{Dead: sure, Evidence: when(sure, Name(ref)+" does not exist")}
	}
	svc, _ := As[corev1.Service](u)
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return Backend{Evidence: []string{Name(ref) + " leads to " + text.Excerpt(svc.Spec.ExternalName)}}
	}
	slices, sure := r.List(KindOf("discovery.k8s.io/v1", "EndpointSlice"), s.Namespace)
	for _, slice := range All[discoveryv1.EndpointSlice](slices) {
		if slice.Labels[discoveryv1.LabelServiceName] != s.Name {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return Backend{Evidence: []string{Name(ref) + " has ready endpoints"}}
			}
		}
	}
	b := Backend{Dead: sure, Evidence: when(sure, Name(ref)+" has no ready endpoint")}
	if w, ok := r.behind(svc); ok && b.Dead {
		state := r.State(w)
		b.Evidence = append(b.Evidence, state.Evidence...)
		if state.Health != Runs {
			b.Next = state.Next
		}
	}
	return b
}

// behind returns the workload whose pods the service selects.
func (r *Run) behind(svc corev1.Service) (Workload, bool) {
	if len(svc.Spec.Selector) == 0 {
		return Workload{}, false
	}
	workloads, _ := r.Workloads()
	for _, w := range workloads {
		if w.Ref.Namespace == svc.Namespace && labels.SelectorFromSet(svc.Spec.Selector).Matches(w.labels) {
			return w, true
		}
	}
	return Workload{}, false
}

func when(yes bool, text string) []string {
	if !yes {
		return nil
	}
	return []string{text}
}

// serves reports whether a service selects the pods of a workload.
func (r *Run) serves(s Service, w Workload) bool {
	u, _ := r.Get(KindOf("v1", "Service"), s.Namespace, s.Name)
	svc, ok := As[corev1.Service](u)
	return ok && len(svc.Spec.Selector) > 0 && w.Ref.Namespace == s.Namespace &&
		labels.SelectorFromSet(svc.Spec.Selector).Matches(w.labels)
}
