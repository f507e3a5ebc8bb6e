package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	smd "sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/openapi"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/yield"
	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// manager is the product's field manager in these tests.
const manager = "k8sconnect"

// TestManagedFields holds what package managedfields says of an apply against
// what a real API server does, over real manifests and random edits of several
// managers:
//
//   - Settled, from the sets, with the kind's schema or with what is known of the kind
//     without it: the apply changes neither content nor owners. (An object without any apply has no owner
//     to be changed; the server would note that it was there before.)
//   - Clear: the apply without force meets no conflict;
//   - Taken, of a forced dry run: exactly the causes of the conflict that the
//     apply without force meets, which ConflictsFromStatus reads alike;
//   - Yield of all these paths: no conflict, and they keep their values;
//   - Tree: every path that is held once, with exactly its owners.
//
// Edits are drawn from SEED (0 if it is not set) and the object's name, so a
// failure repeats itself.
func TestManagedFields(t *testing.T) {
	circle.Full(t)
	t.Parallel() // uses its own cluster
	c := cluster.ForTest(t, cluster.Options{})
	server, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	server.seedFromEnv(t)
	var all tally
	for _, set := range readCorpus(t) {
		t.Run(set.name, func(t *testing.T) {
			subjects := server.install(t, set)
			server.learn(t, subjects)
			var own tally
			each(subjects, func(s *subject) { own.add(s.afterApply(t)) })
			// Editing a definition would change the schema of its objects.
			subjects = slices.DeleteFunc(subjects, (*subject).isDefinition)
			each(subjects, func(s *subject) {
				for round := range circle.Of(2, 2, 4) {
					own.add(s.round(t, round))
				}
			})
			t.Log(own.String())
			all.add(own.counts())
		})
	}
	t.Log("all sets:", all.String())
	if total := all.counts(); total.settled == 0 || total.byKnown == 0 || total.clear == 0 || total.yielded == 0 {
		t.Error("the edits did not lead to all verdicts: the test proves nothing")
	}
}

// seedFromEnv returns the seed for random edits from SEED.
func (s *server) seedFromEnv(t *testing.T) {
	text := os.Getenv("SEED")
	if text == "" {
		return
	}
	var err error
	if s.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
		t.Fatal(err)
	}
}

// subject is a corpus object on the server.
type subject struct {
	*server
	ref      object.Ref
	manifest *unstructured.Unstructured
	random   *rand.Rand
}

// afterApply checks the manifest that has just been applied.
func (s *subject) afterApply(t *testing.T) counts {
	got := s.judge(t, "after apply", s.manifest)
	got.applied = 1
	got.appliedSettled = got.settled
	if got.settled == 0 {
		t.Logf("%s is not settled after it was applied", s.ref)
	}
	return got
}

// round edits the object, then the manifest, and checks both.
func (s *subject) round(t *testing.T, round int) counts {
	s.random = rand.New(rand.NewPCG(seed(s.ref)+s.seed, uint64(round)))
	what := fmt.Sprintf("SEED=%d, round %d, %s", s.seed, round, s.edit(t.Context()))
	total := s.judge(t, what, s.manifest)
	edited := s.manifest.DeepCopy()
	what += ", manifest " + change(s.random, edited.Object)
	total.plus(s.judge(t, what, edited))
	if s.random.IntN(2) == 0 { // a new state, accepted or not
		_, _ = s.apply(t.Context(), edited, manager, s.random.IntN(2) == 0, false)
	}
	return total
}

// schemaOf returns the published schema of the object's kind.
func (s *subject) schemaOf() openapi.Type {
	return s.schema(object.Kind{GVK: s.ref.GVK})
}

// knownOf returns what is known of the kind without its schema.
func (s *subject) knownOf() openapi.Type {
	return s.known.Of(object.Kind{GVK: s.ref.GVK})
}

// isDefinition reports whether the object defines or restricts others. The server takes seconds to
// apply a large one.
func (s *subject) isDefinition() bool { return s.ref.GVK.Kind == "CustomResourceDefinition" }

// ask returns the live object and the server's responses to an apply without and with force, all
// based on the same version.
func (s *subject) ask(ctx context.Context, manifest *unstructured.Unstructured) (live, answer *unstructured.Unstructured, refusal, err error) {
	for range 10 {
		if live, err = s.get(ctx, s.ref); err != nil {
			return nil, nil, nil, err
		}
		if !s.isDefinition() {
			_, refusal = s.apply(ctx, manifest, manager, false, true)
		}
		answer, err = s.apply(ctx, manifest, manager, true, true)
		now := answer
		if err != nil {
			var readErr error
			if now, readErr = s.get(ctx, s.ref); readErr != nil {
				return nil, nil, nil, readErr
			}
		}
		if now.GetResourceVersion() == live.GetResourceVersion() {
			return live, answer, refusal, err
		}
	}
	return nil, nil, nil, fmt.Errorf("%s keeps changing", s.ref)
}

// judge compares the prediction for an apply with the server's response.
func (s *subject) judge(t *testing.T, what string, manifest *unstructured.Unstructured) counts {
	live, answer, refusal, err := s.ask(t.Context(), manifest)
	if live == nil {
		t.Errorf("%s, %s: %v", s.ref, what, err)
		return counts{}
	}
	verdict, _ := noop.Evaluate(live, manifest, manager)
	where := fmt.Sprintf("%s, %s", s.ref, what)
	byTypes, byKnown := 0, 0
	if verdict != noop.Unchanged && noop.BySchema(live, manifest, manager, s.schemaOf) {
		verdict, byTypes = noop.Unchanged, 1
		if noop.BySchema(live, manifest, manager, s.knownOf) {
			byKnown = 1
		}
	} else if verdict != noop.Unchanged && noop.BySchema(live, manifest, manager, s.knownOf) {
		t.Errorf("%s: settled by the known types of its kind, but not by its schema", where)
	}
	if held, absent := checkTree(t, where, live); absent > 0 {
		t.Logf("%s: %d of %d held paths are not in the object", where, absent, held)
	}
	causes := conflictCauses(refusal)
	total := counts{judged: 1, byTypes: byTypes, byKnown: byKnown}
	switch verdict {
	case noop.Unchanged:
		total.settled = 1
		if refusal != nil {
			t.Errorf("%s: settled, but the server answers: %v", where, refusal)
		} else if !reflect.DeepEqual(content(live), content(answer)) {
			t.Errorf("%s: settled, but an apply changes (-live +answer):\n%s", where, cmp.Diff(content(live), content(answer)))
		} else if len(live.GetManagedFields()) > 0 && !managedfields.SameOwners(live, answer) {
			t.Errorf("%s: settled, but an apply changes owners (-live +answer):\n%s", where,
				cmp.Diff(live.GetManagedFields(), answer.GetManagedFields()))
		}
	case noop.Clear:
		total.clear = 1
		if len(causes) > 0 {
			t.Errorf("%s: clear, but the server answers: %v", where, refusal)
		}
	case noop.Contested:
		if len(causes) == 0 {
			t.Errorf("%s: contested, but the server answers: %v", where, refusal)
		}
	case noop.Doubtful:
	}
	if err != nil {
		return total // invalid: nothing to compare
	}
	if len(causes) > 0 {
		total.conflicts = 1
	}
	taken := s.compareTaken(t, where, live, answer, manifest, causes)
	if len(taken) > 0 {
		total.yielded = s.yield(t, where, live, manifest, taken)
	}
	return total
}

// yield leaves all conflicting paths to their owners: then there is no conflict, and the paths keep
// their values. It returns 1 if the server accepted the rest of the manifest.
func (s *subject) yield(t *testing.T, where string, live, manifest *unstructured.Unstructured, taken []managedfields.Conflict) int {
	var paths []fieldpath.Path
	for _, c := range taken {
		paths = append(paths, c.Path)
	}
	rest, _, err := yield.Paths(manifest, live, manager, paths, s.schemaOf)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return 0
	}
	answer, err := s.apply(t.Context(), rest, manager, false, true)
	if len(conflictCauses(err)) > 0 {
		t.Errorf("%s: after yielding %v, the server answers: %v", where, paths, err)
	}
	if err != nil {
		return 0 // invalid without the yielded paths
	}
	for _, p := range paths {
		was, had := p.Get(live.Object)
		is, has := p.Get(answer.Object)
		if had != has || !reflect.DeepEqual(was, is) {
			t.Errorf("%s: %s was yielded, but an apply changes it from %v to %v", where, p, was, is)
		}
	}
	return 1
}

// compareTaken compares the conflicts of a forced dry run with those of the
// refusal without force.
func (s *subject) compareTaken(t *testing.T, where string, live, answer, manifest *unstructured.Unstructured, causes []metav1.StatusCause) []managedfields.Conflict {
	taken, err := predict.Taken(live, answer, manifest, manager)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return nil
	}
	var want []string
	for _, cause := range causes {
		want = append(want, cause.Field)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	var got []string
	for _, conflict := range taken {
		got = append(got, smd.Path(conflict.Path).String())
		if len(conflict.Owners) == 0 {
			t.Errorf("%s: %s has no owner, but is in conflict", where, conflict.Path)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: conflicts (-server +taken):\n%s", where, diff)
		return nil
	}
	read := predict.ConflictsFromStatus(causes, live, manifest, manager)
	if diff := cmp.Diff(texts(taken), texts(read)); diff != "" {
		t.Errorf("%s: conflicts (-taken +from status):\n%s", where, diff)
	}
	return taken
}

// texts shows conflicts by path, values and owners.
func texts(conflicts []managedfields.Conflict) []string {
	var out []string
	for _, c := range conflicts {
		out = append(out, fmt.Sprint(c.Path, c.Yours, c.Live, c.HasLive, c.Owners))
	}
	return out
}

func conflictCauses(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(status.Status().Details.Causes), func(c metav1.StatusCause) bool {
		return c.Type != metav1.CauseTypeFieldManagerConflict
	})
}

// content returns an object without fields that change with every write, including the generation:
// some kinds increment it when an empty list replaces none.
func content(u *unstructured.Unstructured) map[string]any {
	out := maps.Clone(u.Object)
	meta, _ := out["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	delete(meta, "managedFields")
	delete(meta, "resourceVersion")
	delete(meta, "generation")
	out["metadata"] = meta
	return out
}

// edit changes the object as another manager, and describes the attempt. The server may refuse it.
func (s *subject) edit(ctx context.Context) string {
	live, err := s.get(ctx, s.ref)
	if err != nil {
		return err.Error()
	}
	who := []string{"editor", "operator", manager}[s.random.IntN(3)]
	switch s.random.IntN(6) {
	case 0, 1:
		how := change(s.random, live.Object)
		return who + " updates: " + how + outcome(s.update(ctx, live, who))
	case 2, 3:
		part := s.manifest.DeepCopy()
		cut(s.random, part.Object, "")
		how := change(s.random, part.Object)
		_, err := s.apply(ctx, part, who+"-apply", true, false)
		return who + " applies a part: " + how + outcome(err)
	case 4:
		return "scaled" + outcome(s.scale(ctx, s.ref, s.random.IntN(5)))
	}
	_, err = s.apply(ctx, s.manifest, manager, true, false)
	return "applied again" + outcome(err)
}

func outcome(err error) string {
	if err != nil {
		return " (refused)"
	}
	return ""
}

// each runs a function for all subjects, a few at a time.
func each(subjects []*subject, work func(*subject)) {
	var wg sync.WaitGroup
	queue := make(chan *subject)
	for range 4 {
		wg.Go(func() {
			for s := range queue {
				work(s)
			}
		})
	}
	for _, s := range subjects {
		queue <- s
	}
	close(queue)
	wg.Wait()
}

type counts struct {
	applied, appliedSettled, judged, settled, byTypes, byKnown, clear, conflicts, yielded int
}

func (c *counts) plus(d counts) {
	c.applied += d.applied
	c.appliedSettled += d.appliedSettled
	c.judged += d.judged
	c.settled += d.settled
	c.byTypes += d.byTypes
	c.byKnown += d.byKnown
	c.clear += d.clear
	c.conflicts += d.conflicts
	c.yielded += d.yielded
}

// tally sums up the workers' counts.
type tally struct {
	mu  sync.Mutex
	sum counts
}

func (t *tally) add(c counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.plus(c)
}

func (t *tally) counts() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum
}

func (t *tally) String() string {
	c := t.counts()
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d settled after apply; of %d judgements %d settled (%d by their types, %d of them known), %d clear; %d in conflict, %d without it after a yield",
		c.appliedSettled, c.applied, c.judged, c.settled, c.byTypes, c.byKnown, c.clear, c.conflicts, c.yielded)
	return b.String()
}
