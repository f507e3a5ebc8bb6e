package property_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
)

func gvk(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Thing"}
}

// ask runs a dry run of an apply.
func (h *history) ask(t *testing.T, body *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	t.Helper()
	return h.Apply(t.Context(), object.Kind{}, body, object.Write{Manager: us, Force: force, DryRun: true})
}

// Unchanged predicts a no-op, Clear no conflict, and Contested a conflict, unless the server refuses
// the manifest in any case.
func TestVerdict(t *testing.T) {
	verdicts := map[noop.Verdict]int{}
	cases := eachHistory(t, func(t *testing.T, h *history) {
		verdict, _ := noop.Evaluate(h.live, h.manifest, us)
		verdicts[verdict]++
		answer, err := h.ask(t, h.manifest, false)
		switch {
		case verdict == noop.Doubtful:
		case verdict == noop.Contested && len(causes(err)) == 0:
			if _, forced := h.ask(t, h.manifest, true); err == nil || forced == nil {
				t.Errorf("contested, but not in conflict: %v; with force: %v", err, forced)
			}
		case verdict == noop.Contested:
		case len(causes(err)) > 0:
			t.Errorf("the verdict is %v, but the server returns %v", verdict, err)
		case verdict == noop.Clear:
		case err != nil:
			t.Errorf("settled, but refused: %v", err)
		case !sameContent(h.live, answer):
			t.Errorf("settled, but it changes (-live +answer):\n%s", cmp.Diff(content(h.live), content(answer)))
		case len(h.live.GetManagedFields()) == 0: // The server records the existing fields, which have no owner.
		case !sameOwners(h.live, answer):
			t.Errorf("settled, but its owners change (-live +answer):\n%s", cmp.Diff(owned(h.live), owned(answer)))
		}
	})
	t.Log(verdicts)
	if cases >= 300 && (verdicts[noop.Unchanged] < cases/20 || verdicts[noop.Clear] < cases/20 || verdicts[noop.Contested] < cases/20) {
		t.Errorf("verdicts %v: too few of some kind, the test proves nothing", verdicts)
	}
}

// Taken reports each path of a forced apply for which the same apply without force is refused,
// unless no field has an owner. It may report more: fields that others own below one whose type
// changes.
func TestTakenMatchesServerConflicts(t *testing.T) {
	met := 0
	cases := eachHistory(t, func(t *testing.T, h *history) {
		_, refusal := h.ask(t, h.manifest, false)
		answer, err := h.ask(t, h.manifest, true)
		if err != nil || len(h.live.GetManagedFields()) == 0 {
			return
		}
		taken, err := predict.Taken(h.live, answer, h.manifest, us)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range taken {
			got = append(got, fieldpath.Path(c.Path).String())
		}
		for _, path := range causes(refusal) {
			if met++; !slices.Contains(got, path) {
				t.Errorf("the server has a conflict over %s, but only %v are reported as taken", path, got)
			}
		}
	})
	if cases >= 300 && met < cases/10 {
		t.Errorf("%d conflicts: too few, the test proves nothing", met)
	}
}
