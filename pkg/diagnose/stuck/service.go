package stuck

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// backend is how what a service leads to does.
type backend struct {
	// dead: nothing can answer there. Where that is not so, it may still not.
	dead     bool
	evidence []string
	// next cures it; empty where nothing is known to.
	next string
	// blockedBy is what has to change.
	blockedBy object.Ref
}

// backend looks whether anything is behind a service.
func (d *diagnosis) backend(s service) backend {
	ref := refOf("v1", "Service", s.namespace, s.name)
	u, sure := d.get(ref.GVK, s.namespace, s.name)
	if u == nil {
		return backend{dead: sure, blockedBy: ref, evidence: when(sure, name(ref)+" does not exist")}
	}
	svc, _ := as[corev1.Service](u)
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return backend{blockedBy: ref, evidence: []string{name(ref) + " leads to " + quote(svc.Spec.ExternalName)}}
	}
	slices, sure := d.list(kindOf("discovery.k8s.io/v1", "EndpointSlice"), s.namespace)
	for _, slice := range all[discoveryv1.EndpointSlice](slices) {
		if slice.Labels[discoveryv1.LabelServiceName] != s.name {
			continue
		}
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return backend{blockedBy: ref, evidence: []string{name(ref) + " has endpoints that are ready"}}
			}
		}
	}
	b := backend{dead: sure, blockedBy: ref, evidence: when(sure, name(ref)+" has no endpoint that is ready")}
	if w, ok := d.behind(svc); ok && b.dead {
		state := d.state(w)
		b.evidence = append(b.evidence, state.evidence...)
		if state.code != "" {
			b.blockedBy, b.next = w.ref, state.next
		}
	}
	return b
}

// behind is the workload whose pods the service selects.
func (d *diagnosis) behind(svc corev1.Service) (workload, bool) {
	if len(svc.Spec.Selector) == 0 {
		return workload{}, false
	}
	workloads, _ := d.workloads()
	for _, w := range workloads {
		if w.ref.Namespace == svc.Namespace && labels.SelectorFromSet(svc.Spec.Selector).Matches(w.labels) {
			return w, true
		}
	}
	return workload{}, false
}

func when(yes bool, text string) []string {
	if !yes {
		return nil
	}
	return []string{text}
}

// serves tells whether a service selects the pods of a workload.
func (d *diagnosis) serves(s service, w workload) bool {
	u, _ := d.get(kindOf("v1", "Service"), s.namespace, s.name)
	svc, ok := as[corev1.Service](u)
	return ok && len(svc.Spec.Selector) > 0 && w.ref.Namespace == s.namespace &&
		labels.SelectorFromSet(svc.Spec.Selector).Matches(w.labels)
}
