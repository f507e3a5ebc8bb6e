package diagnose

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Lease is the sign of life of a controller that elects a leader.
type Lease struct {
	Ref     object.Ref
	Holder  string
	renewed time.Time
	lasts   time.Duration
}

// LeaseOf reads a lease. It is false for a lease that was never held.
func LeaseOf(u *unstructured.Unstructured) (Lease, bool) {
	typed, ok := As[coordinationv1.Lease](u)
	if !ok || typed.Spec.RenewTime == nil {
		return Lease{}, false
	}
	l := Lease{Ref: object.RefOf(u), renewed: typed.Spec.RenewTime.Time, lasts: 15 * time.Second}
	if typed.Spec.HolderIdentity != nil {
		l.Holder = *typed.Spec.HolderIdentity
	}
	if typed.Spec.LeaseDurationSeconds != nil {
		l.lasts = time.Duration(*typed.Spec.LeaseDurationSeconds) * time.Second
	}
	return l, true
}

// grace is how long beyond its duration a lease may be unrenewed: clocks differ.
const grace = 30 * time.Second

// Stale reports whether the holder has let the lease expire.
func (l Lease) Stale(now time.Time) bool {
	return l.Holder == "" || now.Sub(l.renewed) > l.lasts+grace
}

// String is the lease as evidence.
func (l Lease) String(now time.Time) string {
	if l.Holder == "" {
		return fmt.Sprintf("%s: it has no holder", Name(l.Ref))
	}
	return fmt.Sprintf("%s: held by %s, last renewed %s ago", Name(l.Ref), text.Excerpt(l.Holder), Ago(now.Sub(l.renewed)))
}

// Leases returns the leases except those of nodes, and reports whether all could be read.
func (r *Run) Leases() ([]Lease, bool) {
	made := Once(r, "leases", r.readLeases)
	return made.items, made.sure
}

func (r *Run) readLeases() result[Lease] {
	objects, sure := r.List(KindOf("coordination.k8s.io/v1", "Lease"), "")
	var leases []Lease
	for _, u := range objects {
		if l, ok := LeaseOf(u); ok && u.GetNamespace() != "kube-node-lease" {
			leases = append(leases, l)
		}
	}
	return result[Lease]{leases, sure}
}
