package stuck

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diagnose"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const cloudController = "cloud-controller-manager"

// loadBalancer covers services of type LoadBalancer: a cloud controller has to release
// what they have at the provider (edge case 63).
func (d *diagnosis) loadBalancer(u *unstructured.Unstructured, finalizer string) []finding {
	workloads, sure := d.Workloads()
	for _, w := range workloads {
		if strings.Contains(w.Ref.Name, cloudController) || w.Called(cloudController) {
			return []finding{d.controller(u, finalizer, diagnose.Search{}, diagnose.Candidate{Workload: w, Why: []string{"it is the cloud controller"}})}
		}
	}
	leases, sureOfLeases := d.Leases()
	s := diagnose.Search{Sure: sure && sureOfLeases}
	if s.Sure {
		s.Evidence = []string{"no workload and no lease is called " + cloudController}
	}
	for _, l := range leases {
		if !strings.Contains(l.Ref.Name, cloudController) {
			continue
		}
		if !l.Stale(d.Now) {
			s.Lease = &l
			return []finding{d.silentElsewhere(u, finalizer, s)}
		}
		s.Evidence = []string{l.String(d.Now)}
	}
	if !s.Sure {
		return []finding{d.unfound(u, finalizer, s)}
	}
	ref := object.RefOf(u)
	return []finding{{rank: rankBroken, Cause: event.Cause{
		Code:     LoadBalancerControllerGone,
		Message:  "no cloud controller runs in this cluster that would release its load balancer (finalizer " + text.Excerpt(finalizer) + ")",
		Evidence: append(s.Evidence, d.deleted(u)),
		Next:     removal(ref, finalizer),
		Risk:     "a load balancer at the provider stays there, and keeps costing money",
	}}}
}
