package faults_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// TestKilled kills the webhook repeatedly, as a power failure would.
func TestKilled(t *testing.T) {
	tr := begin(t, cluster.Options{})
	r := tr.first(t)
	tr.fill(t)
	tr.load(t, 1, func(ctx context.Context) {
		for range circle.Of(2, 4, 4) {
			tr.takeovers(ctx, 0.4)
			r.Kill()
			r = tr.replica(t)
		}
	})
	tr.expect(t, noGaps)
}

// TestReplicas runs two replicas, and stops or kills one of them in turn, so that the leader
// changes (edge case 82: a rolling update drops nothing).
func TestReplicas(t *testing.T) {
	circle.Full(t)
	tr := begin(t, cluster.Options{})
	replicas := []*companion.Replica{tr.first(t), tr.replica(t)}
	tr.fill(t)
	tr.load(t, 2, func(ctx context.Context) {
		for turn := range 4 {
			tr.takeovers(ctx, 0.4)
			old := replicas[turn%2]
			if turn < 2 {
				replicas[turn%2] = tr.replica(t) // as in a rolling update: the new one first
				if err := old.Stop(); err != nil {
					t.Errorf("a replica did not end well: %v", err)
				}
			} else {
				old.Kill()
				replicas[turn%2] = tr.replica(t)
			}
		}
	})
	tr.expect(t, noGaps)
}

// TestServerRestarted restarts the API server under the webhook and the writers. Its watch cache
// starts empty, so the webhook reads changes around the restart one by one, and declares no gap. The
// last outage is longer than the webhook can lead, so the webhook ends, and is restarted as by a
// kubelet.
func TestServerRestarted(t *testing.T) {
	circle.Full(t)
	tr := begin(t, cluster.Options{})
	tr.OwnOnly(t)
	current, err := tr.Keep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := current()
	tr.watches(t)
	tr.fill(t)
	tr.load(t, 3, func(ctx context.Context) {
		for _, again := range []func() bool{
			func() bool { return true }, func() bool { return true }, func() bool {
				select {
				case <-first.Ended():
					return true
				default:
					return false
				}
			},
		} {
			tr.takeovers(ctx, 0.5)
			if err := tr.KillAPIServer(); err != nil {
				t.Error(err)
			}
			for started := time.Now(); !again() && time.Since(started) < patience; {
				time.Sleep(50 * time.Millisecond)
			}
			if err := tr.StartAPIServer(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		}
	})
	tr.expect(t, noGaps)
	if current() == first {
		t.Error("the webhook never ended: the test proves little")
	}
}

// TestChangesExpired stops the webhook for longer than the API server's memory: the changes in that time
// are unknown, and declared as such.
func TestChangesExpired(t *testing.T) {
	circle.Full(t)
	tr := begin(t, cluster.Options{APIServerArgs: []string{"--etcd-compaction-interval=2s"}})
	r := tr.first(t)
	tr.fill(t)
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	tr.load(t, 4, func(ctx context.Context) {
		tr.takeovers(ctx, 0.5)
		r.Kill()
		list, err := tr.client.Resource(configMaps).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			t.Error(err)
			return
		}
		for started := time.Now(); time.Since(started) < patience; tr.takeovers(ctx, 0.1) {
			_, err := tr.client.Resource(configMaps).List(ctx, metav1.ListOptions{
				ResourceVersion: list.GetResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchExact, Limit: 1,
			})
			if apierrors.IsResourceExpired(err) {
				return
			}
		}
		t.Error("nothing was compacted")
	})
	tr.replica(t)
	tr.load(t, 5, func(context.Context) {})
	tr.expect(t, someGaps)
}

// TestRecordWritesRefused revokes the permission to write records for a while.
func TestRecordWritesRefused(t *testing.T) {
	tr := begin(t, cluster.Options{})
	r := tr.first(t)
	tr.fill(t)
	roles := tr.typed.RbacV1().ClusterRoles()
	tr.load(t, 6, func(ctx context.Context) {
		ctx = context.WithoutCancel(ctx)
		list, err := roles.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + companion.Release})
		if err != nil {
			t.Error(err)
			return
		}
		refused := 0
		for _, role := range list.Items {
			less := role.DeepCopy()
			for i, rule := range less.Rules {
				for _, group := range rule.APIGroups {
					if group == ownership.RecordGroup {
						less.Rules[i].Verbs = []string{"get", "list", "watch"}
						refused++
					}
				}
			}
			if _, err := roles.Update(ctx, less, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}
		for started := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			errors, err := r.Metric(ctx, "k8sconnect_records_write_errors_total")
			if err == nil && errors > 0 {
				break
			}
			if time.Since(started) > patience {
				t.Errorf("%g writes of records were refused, although %d rules were restricted (%v): the test proves nothing", errors, refused, err)
				break
			}
		}
		for _, role := range list.Items {
			role.ResourceVersion = ""
			if _, err := roles.Update(ctx, &role, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	tr.expect(t, noGaps)
}

// TestUncontestedWrites checks that uncontested writes cause no record: the only record is of a takeover
// after them.
func TestUncontestedWrites(t *testing.T) {
	tr := begin(t, cluster.Options{})
	r := tr.first(t)
	tr.fill(t)
	for n := range circle.Of(1, 3, 3) * objects() {
		c := tr.truth.subjects[n%objects()]
		if err := c.write(t.Context(), tr.truth.client, "first", true, fmt.Sprint("v", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.truth.subjects[0].write(t.Context(), tr.truth.client, "second", true, "taken"); err != nil {
		t.Fatal(err)
	}
	tr.expect(t, noGaps)
	written, err := r.Metric(t.Context(), "k8sconnect_records_written_total")
	if err != nil || written != 1 {
		t.Errorf("%g records were written, want 1 (%v)", written, err)
	}
}
