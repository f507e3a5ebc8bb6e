package predict_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/noop"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/yield"
	"github.com/k8sconnect/kubectl-k8sconnect/test/fieldstest"
)

// histories is the number of objects to check, each with a random history. Some bugs show up in
// only one of several hundred histories.
func histories() int {
	if testing.Short() {
		return 500
	}
	return 1000
}

// history is an object that several managers wrote, and the manifest to apply.
type history struct {
	updater
	seed           uint64
	live, manifest *unstructured.Unstructured
}

// eachHistory calls see with the given number of random histories, which are the same in each run.
func eachHistory(t *testing.T, histories int, see func(t *testing.T, h history)) {
	t.Helper()
	schema := schema(t)
	seen := 0
	for seed := range uint64(histories) {
		h, err := newHistory(t, schema, seed)
		if err != nil {
			continue // Not every random object is valid.
		}
		seen++
		see(t, h)
		if t.Failed() {
			return
		}
	}
	if seen < histories/2 {
		t.Errorf("only %d of %d histories are valid", seen, histories)
	}
}

func newHistory(t *testing.T, schema typed.ParseableType, seed uint64) (history, error) {
	r := random{rand.New(rand.NewPCG(seed, 0))}
	u, err := newUpdater(schema)
	if err != nil {
		return history{}, err
	}
	last := map[string]map[string]any{} // what each manager applied
	for range 1 + r.IntN(4) {
		who := pick(r, fieldstest.Us, fieldstest.Us, "team-b", "edit")
		next := r.object()
		switch {
		case who == "edit" && len(u.managers) > 0:
			next = r.edit(contentOf(u.live))
		case last[who] != nil && r.one(2):
			next = r.edit(last[who])
		case last[fieldstest.Us] != nil && r.one(2):
			next = r.edit(last[fieldstest.Us])
		}
		if who == "edit" {
			u, err = u.update(who, next)
		} else {
			u, err = u.apply(who, next, true)
		}
		if err != nil {
			return history{}, err
		}
		last[who] = next
	}
	manifest := last[fieldstest.Us]
	switch {
	case manifest == nil:
		manifest = r.object()
	case r.one(3):
		manifest = r.edit(manifest)
	}
	return history{
		updater: u, seed: seed, live: u.object(t), manifest: &unstructured.Unstructured{Object: manifest},
	}, nil
}

// wrong reports a violated property of a history.
func (h history) wrong(t *testing.T, format string, args ...any) {
	t.Helper()
	live, err := json.Marshal(h.live.Object)
	manifest, errToo := json.Marshal(h.manifest.Object)
	if err = errors.Join(err, errToo); err != nil {
		t.Fatal(err)
	}
	t.Errorf("history %d: "+format+"\nlive %s\nmanifest %s", append(append([]any{h.seed}, args...), live, manifest)...)
}

// structured-merge-diff's Updater confirms the guarantees of Evaluate: Unchanged is a no-op, Clear
// has no conflict, and Contested has one.
func TestVerdictsMatchUpdater(t *testing.T) {
	verdicts := map[noop.Verdict]int{}
	eachHistory(t, histories(), func(t *testing.T, h history) {
		verdict, _ := noop.Evaluate(h.live, h.manifest, fieldstest.Us)
		verdicts[verdict]++
		after, err := h.apply(fieldstest.Us, h.manifest.Object, false)
		var conflicts merge.Conflicts
		switch {
		case verdict == noop.Doubtful:
		case verdict == noop.Contested:
			if !errors.As(err, &conflicts) {
				h.wrong(t, "contested, but not in conflict: %v", err)
			}
		case errors.As(err, &conflicts):
			h.wrong(t, "%v, but in conflict: %v", verdict, err)
		case verdict == noop.Clear:
		case err != nil:
			h.wrong(t, "settled, but refused: %v", err)
		case !value.Equals(after.live.AsValue(), h.updater.live.AsValue()):
			h.wrong(t, "settled, but changed to %v", contentOf(after.live))
		case !after.managers.Equals(h.managers):
			h.wrong(t, "settled, but owned by %v instead of %v", after.managers, h.managers)
		}
	})
	if verdicts[noop.Unchanged] < histories()/20 || verdicts[noop.Clear] < histories()/20 || verdicts[noop.Contested] < histories()/20 {
		t.Errorf("verdicts %v: want at least 5%% of each of Unchanged, Clear and Contested", verdicts)
	}
}

// Taken returns the conflicts that the same apply without force would have. It also returns the
// fields of others below a field whose value changes its type. The server takes these fields
// without a conflict.
func TestTakenMatchesConflicts(t *testing.T) {
	met := 0
	eachHistory(t, histories(), func(t *testing.T, h history) {
		var conflicts merge.Conflicts
		_, err := h.apply(fieldstest.Us, h.manifest.Object, false)
		forced, errForced := h.apply(fieldstest.Us, h.manifest.Object, true)
		if errForced != nil || err != nil && !errors.As(err, &conflicts) || len(h.managers) == 0 {
			return
		}
		taken, err := predict.Taken(h.live, forced.object(t), h.manifest, fieldstest.Us)
		if err != nil {
			h.wrong(t, "%v", err)
			return
		}
		want, got := fieldpath.NewSet(), fieldpath.NewSet()
		for _, c := range conflicts {
			fieldpath.Insert(want, fieldpath.Path(c.Path))
			met++
		}
		for _, c := range taken {
			fieldpath.Insert(got, c.Path)
			if len(c.Owners) == 0 {
				h.wrong(t, "%s is taken, but has no owners", c.Path)
			}
			if v, _ := c.Path.Get(h.manifest.Object); isMap(v) != isMap(c.Live) && h.ownedBelow(c.Path) {
				fieldpath.Insert(want, c.Path)
			}
		}
		if !want.Equals(got) {
			h.wrong(t, "taken %v, in conflict %v", got, want)
		}
	})
	if met < histories()/20 {
		t.Errorf("%d conflicts are too few to prove anything", met)
	}
}

func isMap(v any) bool {
	_, is := v.(map[string]any)
	return is
}

// ownedBelow reports whether anything below a path has an owner.
func (h history) ownedBelow(p fieldpath.Path) bool {
	for _, set := range h.managers {
		if !isLeaf(set.Set(), p) {
			return true
		}
	}
	return false
}

// isLeaf reports whether a set has nothing below a path.
func isLeaf(set *fieldpath.Set, p fieldpath.Path) bool {
	for _, pe := range p {
		set = set.WithPrefix(pe)
	}
	return set.Empty()
}

// Yielding keeps a valid manifest valid, and each yielded field keeps its live value.
func TestYieldKeepsTheLiveValue(t *testing.T) {
	count := histories()
	if testing.Short() { // The test yields each path of each history.
		count = 100
	}
	yielded := 0
	eachHistory(t, count, func(t *testing.T, h history) {
		declared, err := h.schema.FromUnstructured(h.manifest.DeepCopy().Object)
		if err != nil {
			return
		}
		ours, err := declared.ToFieldSet()
		present, errPresent := h.updater.live.ToFieldSet()
		if err = errors.Join(err, errPresent); err != nil {
			t.Fatal(err)
		}
		fieldpath.Each(ours, func(p fieldpath.Path) {
			// Fields of the parent that the manifest lacks are removed as usual.
			single := isLeaf(ours, p) && isLeaf(present, p)
			if len(p) > 1 && *p[0].FieldName == "spec" && yieldOne(t, h, p.Clone(), single) {
				yielded++
			}
		})
	})
	if yielded < count {
		t.Errorf("%d paths are too few to prove anything", yielded)
	}
}

// yieldOne yields one path. It returns false if nothing was yielded.
func yieldOne(t *testing.T, h history, p fieldpath.Path, single bool) bool {
	t.Helper()
	body, yielded, err := yield.Paths(h.manifest, h.live, fieldstest.Us, []fieldpath.Path{p}, nil)
	if errors.As(err, new(*yield.KeyError)) {
		return false
	}
	if err != nil {
		h.wrong(t, "%s: %v", p, err)
	}
	if err != nil || len(yielded) == 0 {
		return false
	}
	after, err := h.apply(fieldstest.Us, body.Object, true)
	if err != nil {
		if _, refused := h.apply(fieldstest.Us, h.manifest.Object, true); refused == nil {
			h.wrong(t, "%s: yielding it makes the manifest invalid: %v", p, err)
		}
		return false
	}
	was, had := p.Get(h.live.Object)
	is, has := p.Get(contentOf(after.live))
	if single && (had != has || !value.Equals(value.NewValueInterface(was), value.NewValueInterface(is))) {
		h.wrong(t, "%s was %v (%t) before the yield and %v (%t) after it; sent %v", p, was, had, is, has, body.Object)
	}
	return true
}
