package property_test

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// repeats returns a copy of an object with duplicate list items that have other values.
func (r random) repeats(u map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(u)
	spec, _ := out["spec"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		list, is := spec[name].([]any)
		if !is || !slices.Contains([]string{"list", "ports", "mapb", "set"}, name) || len(list) == 0 {
			continue
		}
		again := runtime.DeepCopyJSONValue(list[r.IntN(len(list))])
		if m, is := again.(map[string]any); is && name != "ports" && r.one(2) {
			m["v"] = r.text()
		}
		at := r.IntN(len(list) + 1)
		spec[name] = slices.Insert(slices.Clone(list), at, again)
	}
	return out
}

// A list that was created or updated may contain a key twice. Diff and apply report the same
// removed items, here one in each list of the spec. A conflict is called one value in two spellings
// only if nothing changes.
func TestRepeatedKeys(t *testing.T) {
	server, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	var fewer, conflicts int
	first, cases := number(t, "SEED", 0), number(t, "CASES", histories())
	for seed := first; seed < first+cases; seed++ {
		s, r := server.Empty(), newRandom(seed)
		manifest := &unstructured.Unstructured{Object: r.manifest(s.Schema(), "v1")}
		twice := &unstructured.Unstructured{Object: r.repeats(manifest.Object)}
		if r.one(2) {
			if _, err := s.Apply(t.Context(), object.Kind{}, manifest, object.Write{Manager: us}); err != nil {
				continue
			}
		}
		if _, err := s.Update(t.Context(), object.Kind{}, twice, object.Write{Manager: "edit"}); err != nil {
			continue
		}
		p := predict.Predictor{Manager: us}
		before := getFrom(t, s, manifest)
		if did, _ := applied(t, s.Copy(), manifest, p); did.Action == event.InConflict {
			conflicts++
			taken := s.Copy()
			if _, err := taken.Apply(t.Context(), object.Kind{}, manifest, object.Write{Manager: us, Force: true}); err != nil {
				continue
			}
			after := getFrom(t, taken, manifest)
			for _, c := range did.Conflicts {
				if same := countAt(before, c.Path[:2]) == countAt(after, c.Path[:2]); c.SameValue && !same {
					t.Errorf("seed %d: %s is reported as the same value, but items are removed", seed, c.Path)
				}
			}
		}
		p.Take = []predict.Choice{{}}
		says, _ := compared(t, s, manifest, p)
		did, err := applied(t, s, manifest, p)
		if err != nil {
			continue
		}
		after := getFrom(t, s, manifest)
		for _, name := range []string{"list", "ports", "mapb", "set"} {
			path := fieldpath.Field("spec", name)
			if countAt(after, path) >= countAt(before, path) {
				continue
			}
			fewer++
			isBelow := func(c managedfields.Change) bool { return c.Path.HasPrefix(path) || path.HasPrefix(c.Path) }
			isGone := func(c managedfields.Change) bool { return isBelow(c) && c.Kind != managedfields.Added }
			if !slices.ContainsFunc(says.Changes, isGone) {
				t.Errorf("seed %d: diff does not report the removed item of %s\n%v\n%v", seed, path, before.Object["spec"], after.Object["spec"])
			}
			reported := slices.Concat(did.Removed, did.Taken)
			if !slices.ContainsFunc(reported, isGone) {
				t.Errorf("seed %d: apply does not report the removed item of %s: diff reports %v\n%v\n%v", seed, path, says.Changes, before.Object["spec"], after.Object["spec"])
			}
			for _, c := range says.Changes {
				if isBelow(c) && c.Kind == managedfields.Removed && !slices.ContainsFunc(reported, func(d managedfields.Change) bool { return d.Path.Equal(c.Path) }) {
					t.Errorf("seed %d: diff reports that %s is removed, but apply reports %v", seed, c.Path, reported)
				}
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d lists have fewer items, %d conflicts", fewer, conflicts)
	if cases >= 300 && (uint64(fewer) < cases/20 || uint64(conflicts) < cases/20) {
		t.Error("too few lists or conflicts: the test proves nothing")
	}
}

// countAt returns the number of items in a list.
func countAt(u *unstructured.Unstructured, path fieldpath.Path) int {
	v, _ := path.Get(u.Object)
	list, _ := v.([]any)
	return len(list)
}
