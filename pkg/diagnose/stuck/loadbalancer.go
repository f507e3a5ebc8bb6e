package stuck

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const cloudController = "cloud-controller-manager"

// loadBalancer is about services of type LoadBalancer: a cloud controller releases
// what it has at the provider (edge case 63).
func (d *diagnosis) loadBalancer(u *unstructured.Unstructured, finalizer string) []finding {
	workloads, sure := d.workloads()
	for _, w := range workloads {
		if strings.Contains(w.ref.Name, cloudController) || w.called(cloudController) {
			return []finding{d.controller(u, finalizer, search{}, candidate{workload: w, why: []string{"it is the cloud controller"}})}
		}
	}
	leases, sureOfLeases := d.leases()
	s := search{sure: sure && sureOfLeases}
	if s.sure {
		s.evidence = []string{"no workload and no lease is called " + cloudController}
	}
	for _, l := range leases {
		if !strings.Contains(l.ref.Name, cloudController) {
			continue
		}
		if !l.stale(d.now) {
			s.lease = &l
			return []finding{d.silentElsewhere(u, finalizer, s)}
		}
		s.evidence = []string{l.String(d.now)}
	}
	if !s.sure {
		return []finding{d.unfound(u, finalizer, s)}
	}
	ref := object.RefOf(u)
	return []finding{{rank: rankBroken, Cause: event.Cause{
		Code:     LoadBalancerControllerGone,
		Message:  "no cloud controller runs in this cluster that would release its load balancer (finalizer " + quote(finalizer) + ")",
		Evidence: append(s.evidence, d.deleted(u)),
		Next:     removal(ref, finalizer),
		Risk:     "a load balancer that exists at the provider stays there, and costs what it costs",
	}}}
}
