package stuck

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// lease is the sign of life of a controller that elects a leader.
type lease struct {
	ref     object.Ref
	holder  string
	renewed time.Time
	lasts   time.Duration
}

func leaseOf(u *unstructured.Unstructured) (lease, bool) {
	typed, ok := as[coordinationv1.Lease](u)
	if !ok || typed.Spec.RenewTime == nil {
		return lease{}, false
	}
	l := lease{ref: object.RefOf(u), renewed: typed.Spec.RenewTime.Time, lasts: 15 * time.Second}
	if typed.Spec.HolderIdentity != nil {
		l.holder = *typed.Spec.HolderIdentity
	}
	if typed.Spec.LeaseDurationSeconds != nil {
		l.lasts = time.Duration(*typed.Spec.LeaseDurationSeconds) * time.Second
	}
	return l, true
}

// grace is how much longer than it lasts a lease may be unrenewed: clocks differ.
const grace = 30 * time.Second

// stale tells whether whoever held the lease does not any more.
func (l lease) stale(now time.Time) bool {
	return l.holder == "" || now.Sub(l.renewed) > l.lasts+grace
}

// String is the lease as evidence.
func (l lease) String(now time.Time) string {
	if l.holder == "" {
		return fmt.Sprintf("%s: nobody holds it", name(l.ref))
	}
	return fmt.Sprintf("%s: held by %s, last renewed %s ago", name(l.ref), quote(l.holder), ago(now.Sub(l.renewed)))
}
