package tracker

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
)

func (w *watched) occurrence(uid types.UID, o remembered, t ownership.Transition, gap bool, now time.Time) ownership.Occurrence {
	at, _ := timeOf(t, now)
	return ownership.Occurrence{
		Object: ownership.Object{
			APIVersion: w.resource.GroupVersion().String(), Kind: w.name,
			Namespace: o.namespace.Value(), Name: o.name, UID: uid,
		},
		Transition: t,
		Occasion:   ownership.Occasion{ResourceVersion: o.version, Time: at, Gap: gap},
	}
}

// timeOf returns when a transition happened: the time at which the new owner's entry last changed,
// by the API server's clock, so that all replicas agree, even after a restart. A write through
// /scale has no time, nor does an owner that only loses a field; the time at which the transition
// was seen then takes its place, and known is false.
func timeOf(t ownership.Transition, seen time.Time) (at time.Time, known bool) {
	gained := t.Gained()
	if len(gained) == 0 {
		return seen, false
	}
	last := slices.MaxFunc(gained, func(a, b managedfields.Owner) int { return a.Time.Compare(b.Time) }).Time
	if last.IsZero() || last.After(seen) {
		return seen, false
	}
	return last, true
}

// writtenAt returns the earliest time at which an object may have been written, by its managed
// fields; zero if they do not say.
func writtenAt(o *metav1.PartialObjectMetadata, seen time.Time) (at time.Time) {
	for _, e := range o.ManagedFields {
		if e.Time != nil && !e.Time.After(seen) {
			at = latest(at, e.Time.Time)
		}
	}
	return at
}
