package faults_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// Users delete the Lease to make the replicas elect a new leader. With the chart's permissions, the
// webhook recreates it and keeps leading. If another replica has put its name into the Lease
// meanwhile, that is kept.
func TestLeaseDeleted(t *testing.T) {
	circle.Full(t)
	tr := beginWith(t, cluster.Options{}, "--shutdown-delay=0s")
	r := tr.first(t)
	leases := tr.typed.CoordinationV1().Leases(companion.Namespace)
	holder := func() string {
		lease, err := leases.Get(t.Context(), companion.Release, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		if lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	tr.await(t, "the replica leads", func() bool { return holder() != "" })
	before := holder()
	for range 3 {
		if err := leases.Delete(t.Context(), companion.Release, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		tr.await(t, "it leads again", func() bool { return holder() == before })
	}
	select {
	case <-r.Ended():
		t.Error("the replica has ended")
	default:
	}
}
