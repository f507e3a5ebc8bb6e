package tracker_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/webhook/tracker"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// lost is a takeover as a metadata watch shows it.
const lost = "ConfigMap/%s: .data.k lost by argo (Apply) to flux (Apply)"

// takeOver takes the named ConfigMaps' key as flux, and returns the expected reports.
func (w *world) takeOver(t *testing.T, names ...string) (want []string) {
	t.Helper()
	for _, name := range names {
		w.set(t, "flux", name, "2")
		want = append(want, fmt.Sprintf(lost, name))
	}
	return want
}

func (w *world) claim(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		w.set(t, "argo", name, "1")
	}
}

// A restarted tracker reports each change in the meantime, or declares a gap.
func TestRestart(t *testing.T) {
	w := newWorld(t, shared.Cluster(t))

	t.Run("changes in the meantime are reported, one by one", func(t *testing.T) {
		w.claim(t, "a", "b", "c")
		first := w.track(t, true)
		first.expect(t, w.takeOver(t, "a")...)
		eventually(t, "settled", first.settledAll)
		first.stop()
		want := w.takeOver(t, "b", "c")
		w.set(t, "argo", "b", "3")
		w.set(t, "new", "d", "1")
		want = append(want, "ConfigMap/b: .data.k lost by flux (Apply) to argo (Apply)")
		second := w.track(t, true)
		second.expect(t, want...)
		if gaps := w.coverage(t).Gaps; len(gaps) > 0 {
			t.Errorf("gaps: %v", gaps)
		}
	})

	t.Run("changes that were not written are reported again", func(t *testing.T) {
		w.claim(t, "k1", "k2")
		deaf := w.track(t, true)
		deaf.mu.Lock()
		deaf.deaf = true
		deaf.mu.Unlock()
		want := w.takeOver(t, "k1", "k2")
		deaf.expect(t, want...)
		deaf.stop()
		again := w.track(t, true)
		// The checkpoint is read at the start, and again for leading: its notes may be reported
		// each time, but only until a checkpoint without notes is stored.
		eventually(t, "noted no more", func() bool { return w.checkpoint(t).Seen.IsZero() })
		again.expectEach(t, want...)
	})

	t.Run("a new leader reports changes that were not written", func(t *testing.T) {
		w.claim(t, "l1", "l2")
		first, second := w.track(t, true), w.track(t, false)
		before := w.takeOver(t, "l1")
		first.expect(t, before...)
		eventually(t, "settled", first.settledAll)
		first.mu.Lock()
		first.deaf = true
		first.mu.Unlock()
		want := w.takeOver(t, "l2")
		first.expect(t, append(before, want...)...)
		eventually(t, "noted", func() bool { return !w.checkpoint(t).Seen.IsZero() })
		first.Lead(false)
		first.stop()
		second.expect(t, append(before, want...)...)
		second.forget()
		second.Lead(true)
		second.expectEach(t, want...)
	})
}

// unrecorded receives deletions, and records none.
type unrecorded struct{}

func (unrecorded) Going(ownership.Object, string, []metav1.OwnerReference, []ownership.Holder) {}
func (unrecorded) Gone(_ ownership.Object, _ string, _ time.Time, _ bool, _ []metav1.OwnerReference, _ []ownership.Holder, settled func()) {
	settled()
}
func (unrecorded) Lives(string) {}

// A version that etcd has compacted cannot be resumed: the gap is declared, and the sink is asked
// to compare. A list does not show which objects have gone, so a gap is declared for deletions, too.
func TestCompacted(t *testing.T) {
	w := newWorld(t, cluster.ForTest(t, cluster.Options{APIServerArgs: []string{"--etcd-compaction-interval=1s"}}))
	w.claim(t, "a", "b", "gone")
	deletions := func(o *tracker.Options) { o.Deletions = unrecorded{} }
	first := w.track(t, true, deletions)
	eventually(t, "stored", func() bool { return w.checkpoint(t).Resources["configmaps"].Version != "" })
	first.stop()
	at := w.checkpoint(t).Resources["configmaps"].Version
	w.takeOver(t, "a")
	if err := w.typed.CoreV1().ConfigMaps(w.work).Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "compacted", func() bool {
		w.claim(t, "noise")
		_, err := w.typed.CoreV1().ConfigMaps(w.work).List(t.Context(), metav1.ListOptions{
			ResourceVersion: at, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		})
		return apierrors.IsResourceExpired(err)
	})
	second := w.track(t, true, deletions)
	eventually(t, "asked to compare", func() bool { return second.gapsReported() > 0 })
	eventually(t, "declared", func() bool { return len(w.coverage(t).Gaps) > 0 })
	eventually(t, "declared for deletions", func() bool {
		return slices.ContainsFunc(w.coverage(t).Gaps, func(g tracker.Gap) bool {
			return g.Of.OnlyDeletions() && g.Of.ConcernsDeletions(schema.GroupKind{Kind: "ConfigMap"})
		})
	})
	live := w.set(t, "flux", "a", "2")
	if _, version, ok := second.live(live.GetUID()); !ok || version != live.GetResourceVersion() {
		t.Errorf("live: %q, %v", version, ok)
	}
	second.expect(t)
	second.expect(t, w.takeOver(t, "b")...)
}

// A checkpoint of a history that was rolled back is noticed at once: nothing hangs, and the unknown
// period is declared.
func TestCheckpointFromFuture(t *testing.T) {
	w := newWorld(t, shared.Cluster(t))
	w.claim(t, "a", "b")
	first := w.track(t, true)
	eventually(t, "stored", func() bool { return w.checkpoint(t).Resources["configmaps"].Version != "" })
	first.stop()
	stored := w.stored(t)
	stored.Data[tracker.CheckpointKey] = fmt.Sprintf(
		`{"of":%q,"resources":{"configmaps":{"version":"99999999","time":%q}}}`, stored.UID, time.Now().UTC().Format(time.RFC3339))
	if _, err := w.typed.CoreV1().ConfigMaps(w.own).Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	second := w.track(t, true)
	eventually(t, "asked to compare", func() bool { return second.gapsReported() > 0 })
	second.expect(t, w.takeOver(t, "a")...)
	eventually(t, "declared", func() bool { return len(w.coverage(t).Gaps) > 0 })

	second.stop()
	stored = w.stored(t)
	stored.Data[tracker.CheckpointKey] = `{"of":"another","resources":{"configmaps":{"version":"1"}}}`
	if _, err := w.typed.CoreV1().ConfigMaps(w.own).Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	third := w.track(t, true)
	third.expect(t, w.takeOver(t, "b")...)
	eventually(t, "begun anew", func() bool { return len(w.coverage(t).Gaps) == 0 && w.checkpoint(t).Of == string(stored.UID) })
}

// No committed change is lost while the API server restarts, whether or not a tracker was running. It
// cannot watch from before its start, so the tracker reads each missing version, and no gap is
// declared.
func TestServerRestarts(t *testing.T) {
	w := newWorld(t, cluster.ForTest(t, cluster.Options{}))
	w.claim(t, "a", "b", "c")
	r := w.track(t, true)
	want := w.takeOver(t, "a")
	if err := w.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := w.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	want = append(want, w.takeOver(t, "b", "c")...)
	for _, line := range want {
		eventually(t, "told: "+line, func() bool { return contains(r.lines(), line) })
	}
	eventually(t, "settled", r.settledAll)
	r.stop()
	w.claim(t, "a", "new")
	want = append([]string{"ConfigMap/a: .data.k lost by flux (Apply) to argo (Apply)"}, w.takeOver(t, "a", "new")...)
	if err := w.KillAPIServer(); err != nil {
		t.Fatal(err)
	}
	if err := w.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := w.track(t, true)
	second.expect(t, want...)
	if gaps := w.coverage(t).Gaps; len(gaps) > 0 {
		t.Errorf("gaps: %v", gaps)
	}
}
