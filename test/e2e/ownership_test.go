package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/ownership"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/ownershiptest"
)

// writesOfSubject is the number of writes to an object: enough for an eleventh updater, at which
// the server starts to merge the oldest into ancient-changes.
const writesOfSubject = 40

// TestOwnership holds what package ownership concludes from two versions of an
// object against a real API server, over random writes by random managers:
//
//   - replaying all transitions, of whole objects as well as of compact owners,
//     leads to exactly the live owners;
//   - what a forced apply takes is what the same apply without force is refused
//     for, but for what is unclear or kept its value.
//
// Writes are drawn from SEED (0 if it is not set) and the object's name.
func TestOwnership(t *testing.T) {
	circle.Full(t)
	t.Parallel() // uses its own cluster
	c := cluster.ForTest(t, cluster.Options{})
	server, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	server.seedFromEnv(t)
	var seen kindCounts
	sets := append(readCorpus(t), manifests{name: "versions", objects: []*unstructured.Unstructured{autoscaler("v2")}})
	for _, set := range sets {
		t.Run(set.name, func(t *testing.T) {
			subjects := slices.DeleteFunc(server.install(t, set), (*subject).isDefinition)
			slices.SortFunc(subjects, func(a, b *subject) int { return int(seed(a.ref)%1000) - int(seed(b.ref)%1000) })
			each(subjects[:min(len(subjects), circle.Of(4, 4, 8))], func(s *subject) { s.replay(t, &seen) })
		})
	}
	t.Log(seen.String())
	for _, kind := range allKinds() {
		if seen.of(kind) == 0 {
			t.Errorf("no transition is %s: the test does not cover that kind", kind)
		}
	}
}

// replay writes to an object repeatedly, and follows its owners.
func (s *subject) replay(t *testing.T, seen *kindCounts) {
	s.random = rand.New(rand.NewPCG(seed(s.ref)+s.seed, 77))
	live, err := s.get(t.Context(), s.ref)
	if err != nil {
		t.Error(err)
		return
	}
	replayed, blind := liveOwners(t, live), liveOwners(t, live)
	compact := ownership.Compact(live.GetManagedFields())
	for n := range writesOfSubject {
		w := s.write(t, live)
		where := fmt.Sprintf("SEED=%d, %s, write %d: %s", s.seed, s.ref, n, w.what)
		now, err := s.get(t.Context(), s.ref)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			return
		}
		transitions, err := ownershiptest.Transitions(live, now)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			return
		}
		w.compareForced(t, where, live, now, transitions)
		seen.add(transitions)
		next := ownership.Compact(now.GetManagedFields())
		fromCompact, err := ownership.Between(compact, next)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			return
		}
		want := liveOwners(t, now)
		for how, diff := range map[string]string{
			"objects": trace(replayed, transitions, want), "compact owners": trace(blind, fromCompact, want),
		} {
			if diff != "" {
				t.Errorf("%s: replayed from %s:\n%s", where, how, diff)
				return
			}
		}
		live, compact = now, next
	}
}

// attempt is a write, and the paths for which the server refused it without force.
type attempt struct {
	what    string
	refused []string
	forced  bool
	// tracked reports whether the object had managed fields.
	tracked bool
}

// write writes as a random manager.
func (s *subject) write(t *testing.T, live *unstructured.Unstructured) attempt {
	ctx := t.Context()
	switch s.random.IntN(8) {
	case 0, 1, 2:
		who := fmt.Sprint("updater-", s.random.IntN(14))
		edited := live.DeepCopy()
		how := change(s.random, edited.Object)
		return attempt{what: who + " updates: " + how + outcome(s.update(ctx, edited, who))}
	case 3:
		return attempt{what: "scaled" + outcome(s.scale(ctx, s.ref, s.random.IntN(5)))}
	case 4:
		if s.random.IntN(6) > 0 {
			break
		}
		cleared := live.DeepCopy()
		unstructured.RemoveNestedField(cleared.Object, "metadata", "managedFields")
		_ = unstructured.SetNestedSlice(cleared.Object, []any{map[string]any{}}, "metadata", "managedFields")
		return attempt{what: "managed fields cleared" + outcome(s.update(ctx, cleared, "cleaner"))}
	}
	who := fmt.Sprint("applier-", s.random.IntN(4))
	part := s.manifest.DeepCopy()
	if s.ref.GVK.Kind == "HorizontalPodAutoscaler" && s.random.IntN(2) == 0 {
		part = autoscaler("v1")
		part.SetNamespace(s.ref.Namespace)
	}
	cut(s.random, part.Object, "")
	how := change(s.random, part.Object)
	w := attempt{forced: true, tracked: len(live.GetManagedFields()) > 0}
	_, err := s.apply(ctx, part, who, false, true)
	for _, cause := range conflictCauses(err) {
		w.refused = append(w.refused, cause.Field)
	}
	_, err = s.apply(ctx, part, who, true, false)
	if err != nil {
		w.refused = nil
	}
	w.what = who + " applies a part: " + how + outcome(err)
	return w
}

// compareForced compares the paths that a forced apply took with the conflicts without force.
func (w attempt) compareForced(t *testing.T, where string, live, now *unstructured.Unstructured, transitions []ownership.Transition) {
	if !w.forced || !w.tracked {
		return // an object without owners is claimed as a whole
	}
	var taken []string
	// If the value is unchanged, the server did not store the applied one, so the change cannot be
	// detected.
	open := map[string]bool{}
	for _, tr := range transitions {
		path := smd.Path(tr.Path).String()
		switch {
		case tr.Kind == ownership.Taken:
			taken = append(taken, path)
			if !tr.Forced {
				t.Errorf("%s: %s, but it is not marked as forced", where, tr)
			}
		case tr.Kind == ownership.Unclear || len(tr.After) == 0 || tr.Path.Same(live.Object, now.Object):
			open[path] = true
		}
	}
	want := slices.DeleteFunc(slices.Clone(w.refused), func(path string) bool { return open[path] })
	slices.Sort(want)
	slices.Sort(taken)
	if diff := cmp.Diff(strings.Join(slices.Compact(want), "\n"), strings.Join(slices.Compact(taken), "\n")); diff != "" {
		t.Errorf("%s: taken (-refused without force +transitions):\n%s%s", where, diff, transitionTexts(transitions))
	}
}

func transitionTexts(transitions []ownership.Transition) string {
	var b strings.Builder
	for _, tr := range transitions {
		fmt.Fprintln(&b, tr)
	}
	return b.String()
}

// liveOwners returns the owners of each path of an object.
func liveOwners(t *testing.T, u *unstructured.Unstructured) map[string][]string {
	entries, err := managedfields.Entries(u)
	if err != nil {
		t.Error(err)
	}
	owners := map[string][]string{}
	for _, e := range entries {
		for p := range e.Fields.All() {
			path := fieldpath.Path(p).String()
			owners[path] = append(owners[path], ownerText(e.Owner))
		}
	}
	for _, names := range owners {
		slices.Sort(names)
	}
	return owners
}

// trace applies transitions to an object's owners, and returns the differences from the expected
// owners.
func trace(owners map[string][]string, transitions []ownership.Transition, want map[string][]string) string {
	for _, tr := range transitions {
		path := tr.Path.String()
		if diff := cmp.Diff(owners[path], ownerTexts(tr.Before)); diff != "" {
			return fmt.Sprintf("%s starts from other owners (-live +transition):\n%s", tr, diff)
		}
		if len(tr.After) == 0 {
			delete(owners, path)
		} else {
			owners[path] = ownerTexts(tr.After)
		}
	}
	return cmp.Diff(want, owners)
}

func ownerTexts(owners []managedfields.Owner) []string {
	var out []string
	for _, o := range owners {
		out = append(out, ownerText(o))
	}
	slices.Sort(out)
	return out
}

func ownerText(o managedfields.Owner) string {
	return o.String() + " " + o.Operation + " " + o.APIVersion
}

// autoscaler is an object of a kind with two served versions.
func autoscaler(version string) *unstructured.Unstructured {
	spec := map[string]any{
		"minReplicas": int64(1), "maxReplicas": int64(9),
		"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/" + version, "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"name": "web", "labels": map[string]any{"app": "web"}}, "spec": spec,
	}}
}

// kindCounts counts transitions by kind, and unclear ones by their reason.
type kindCounts struct {
	counts [8]atomic.Int64
}

func allKinds() []string {
	return []string{
		string(ownership.Claimed), string(ownership.Shared), string(ownership.Taken), string(ownership.Released),
		string(ownership.Removed), string(ownership.CrossVersion), string(ownership.Bookkeeping), string(ownership.Reset),
	}
}

func (k *kindCounts) add(transitions []ownership.Transition) {
	for _, tr := range transitions {
		name := string(tr.Kind)
		if tr.Kind == ownership.Unclear {
			name = string(tr.Why)
		}
		if i := slices.Index(allKinds(), name); i >= 0 {
			k.counts[i].Add(1)
		}
	}
}

func (k *kindCounts) of(kind string) int64 { return k.counts[slices.Index(allKinds(), kind)].Load() }

func (k *kindCounts) String() string {
	var parts []string
	for _, kind := range allKinds() {
		parts = append(parts, fmt.Sprintf("%d %s", k.of(kind), kind))
	}
	return strings.Join(parts, ", ")
}
