package faults_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/companion"
)

// TestKilled kills the webhook every few seconds, as a power cut would.
func TestKilled(t *testing.T) {
	tr := begin(t, cluster.Options{})
	r := tr.first(t)
	tr.fill(t)
	tr.load(t, 1, func(ctx context.Context) {
		every(ctx, 3*time.Second, func() { r.Kill(); r = tr.replica(t) })
	})
	tr.expect(t, false)
}

// TestReplicas runs two replicas, and ends the one or the other, gracefully and
// not, so that the lead changes (edge case 82: a rolling update drops nothing).
func TestReplicas(t *testing.T) {
	tr := begin(t, cluster.Options{})
	replicas := []*companion.Replica{tr.first(t), tr.replica(t)}
	tr.fill(t)
	turn := 0
	tr.load(t, 2, func(ctx context.Context) {
		every(ctx, 4*time.Second, func() {
			old := replicas[turn%2]
			if turn < 2 {
				replicas[turn%2] = tr.replica(t) // as a rolling update does: the new one first
				if err := old.Stop(); err != nil {
					t.Errorf("a replica did not end well: %v", err)
				}
			} else {
				old.Kill()
				replicas[turn%2] = tr.replica(t)
			}
			turn++
		})
	})
	tr.expect(t, false)
}

// TestServerRestarted ends the API server under the webhook and those who write.
// Its watch cache knows nothing of before its start, so that what happened around
// the restart is a gap that is declared.
func TestServerRestarted(t *testing.T) {
	tr := begin(t, cluster.Options{})
	tr.OwnOnly(t)
	tr.first(t)
	tr.fill(t)
	tr.load(t, 3, func(ctx context.Context) {
		every(ctx, 6*time.Second, func() {
			if err := tr.KillAPIServer(); err != nil {
				t.Error(err)
			}
			if err := tr.StartAPIServer(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		})
	})
	tr.expect(t, true)
}

// TestExpired has the webhook away for longer than the API server remembers: what
// happened meanwhile is not known, and that is said.
func TestExpired(t *testing.T) {
	tr := begin(t, cluster.Options{APIServerArgs: []string{"--etcd-compaction-interval=5s"}})
	r := tr.first(t)
	tr.fill(t)
	tr.load(t, 4, func(ctx context.Context) {
		time.Sleep(loadTime(t) / 4)
		r.Kill()
		<-ctx.Done()
	})
	time.Sleep(12 * time.Second) // two more compactions
	tr.replica(t)
	tr.load(t, 5, func(ctx context.Context) { <-ctx.Done() })
	tr.expect(t, true)
}

// TestRefused takes the permission to write records away for a while.
func TestRefused(t *testing.T) {
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
		time.Sleep(loadTime(t) / 2)
		errors, err := r.Metric(ctx, "k8sconnect_records_write_errors_total")
		if err != nil || errors == 0 || refused == 0 {
			t.Errorf("%g writes of records were refused by %d rules that were cut (%v): the test proves nothing", errors, refused, err)
		}
		for _, role := range list.Items {
			role.ResourceVersion = ""
			if _, err := roles.Update(ctx, &role, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	tr.expect(t, false)
}

// TestUncontested holds that traffic nobody fights over writes no record.
func TestUncontested(t *testing.T) {
	tr := begin(t, cluster.Options{})
	r := tr.first(t)
	tr.fill(t)
	ctx, cancel := context.WithTimeout(t.Context(), loadTime(t)/4)
	defer cancel()
	for n := 0; ctx.Err() == nil; n++ {
		c := tr.truth.subjects[n%objects]
		if err := c.write(t.Context(), tr.truth.client, "first", true, time.Now().String()); err != nil {
			t.Fatal(err)
		}
	}
	written, err := r.Metric(t.Context(), "k8sconnect_records_written_total")
	if err != nil || written != 0 {
		t.Errorf("%g records were written (%v)", written, err)
	}
	tr.expect(t, false)
}
