package property_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/apply"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/diff"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// planOf returns a plan of one object.
func planOf(t *testing.T, s *Server, manifest *unstructured.Unstructured) *plan.Plan {
	t.Helper()
	kind, err := s.Kind(t.Context(), manifest.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	item := plan.Item{Ref: object.RefOf(manifest), Object: manifest, Kind: kind}
	return &plan.Plan{Phases: []plan.Phase{{Name: "workloads", Items: []plan.Item{item}}}}
}

// compared runs a diff and returns the object's result.
func compared(t *testing.T, s *Server, manifest *unstructured.Unstructured, p predict.Predictor) (event.Compared, error) {
	t.Helper()
	var got event.Compared
	engine := diff.Engine{Server: s, Predictor: p, Emit: func(e event.Event) {
		if c, ok := e.(event.Compared); ok {
			got = c
		}
	}}
	return got, engine.Run(t.Context(), planOf(t, s, manifest))
}

// applied runs an apply.
func applied(t *testing.T, s *Server, manifest *unstructured.Unstructured, p predict.Predictor) (event.Applied, error) {
	t.Helper()
	var got event.Applied
	engine := apply.Engine{Server: s, Predictor: p, Emit: func(e event.Event) {
		if a, ok := e.(event.Applied); ok {
			got = a
		}
	}}
	return got, engine.Run(t.Context(), planOf(t, s, manifest))
}

func (h *history) get(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	live, err := h.Get(t.Context(), object.Kind{}, object.RefOf(h.manifest))
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// Reordering a keyed list or a set causes no conflict and takes nothing from the owners: the server
// has the same conflicts, and diff marks the same paths.
func TestOrderIsNotContested(t *testing.T) {
	var moved, conflicts int
	cases := eachHistory(t, func(t *testing.T, h *history) {
		p := predict.Predictor{Manager: us}
		other := &unstructured.Unstructured{Object: h.reorder(h.Schema(), h.manifest.Object).(map[string]any)}
		_, err := h.Apply(t.Context(), object.Kind{}, other, object.Write{Manager: us, DryRun: true})
		if err != nil && !predict.IsContested(err) {
			return
		}
		met := pathsOfConflicts(p.Contested(err, h.get(t), other))
		says, _ := compared(t, h.Server, other, p)
		if says.Err != nil {
			return
		}
		for _, c := range says.Changes {
			if c.Order {
				moved++
			}
			switch {
			case c.Order && (c.Kind != managedfields.Changed || len(c.Owners) > 0):
				t.Errorf("the order of %s is %s, owned by %v", c.Path, c.Kind, c.Owners)
			case c.Kind == managedfields.Contested && !slices.ContainsFunc(met, func(path string) bool {
				return strings.HasPrefix(path, c.Path.String()) || strings.HasPrefix(c.Path.String(), path)
			}):
				t.Errorf("%s is contested, but the server's conflicts are %v", c.Path, met)
			case c.Kind == managedfields.Contested:
				conflicts++
			}
		}
	})
	t.Logf("%d lists in another order, %d contested paths", moved, conflicts)
	if cases >= 300 && (moved < cases/30 || conflicts < cases/30) {
		t.Error("too few lists or conflicts: the test proves nothing")
	}
}

// Diff ends with 0 if and only if apply writes nothing and ends with 0. Every conflict would change
// its field's value, unless the report says otherwise. A second apply changes nothing (edge case
// 84).
func TestDiffAgreesWithApply(t *testing.T) {
	var unchanged, conflicts, spelt, shared, written, refused int
	cases := eachHistory(t, func(t *testing.T, h *history) {
		p := predict.Predictor{Manager: us}
		before := h.get(t)
		says, differs := compared(t, h.Server, h.manifest, p)
		if after := h.get(t); after.GetResourceVersion() != before.GetResourceVersion() {
			t.Fatal("diff writes")
		}
		did, err := applied(t, h.Server, h.manifest, p)
		after := h.get(t)
		wrote := after.GetResourceVersion() != before.GetResourceVersion()
		if _, owns := managedfields.AppliedBy(entriesOf(t, after), us); wrote && !owns && len(before.GetManagedFields()) == 0 {
			return // a manifest that owns nothing: the server only assigned the existing fields to before-first-apply
		}
		if (differs == nil) != (err == nil && !wrote) {
			t.Errorf("diff returns %v and reports %s %v; apply returns %v, writes %t and reports %s %v", differs, says.Action, says.Changes, err, wrote, did.Action, did.Err)
		}
		switch did.Action {
		case event.InConflict:
			conflicts++
			h.areReal(t, did.Conflicts, &spelt)
			if !errors.Is(differs, diff.ErrDiffers) {
				t.Errorf("in conflict, but diff returns %v", differs)
			}
			return
		case event.Failed:
			refused++
			return
		case event.Unchanged, event.Shared:
			unchanged++
			// An empty map without an owner exists only with its contents.
			if !sameContent(withoutEmpty(before), withoutEmpty(after)) {
				t.Errorf("unchanged, but it changed: %v", says.Changes)
			}
			if wrote != (did.Action == event.Shared) || wrote != (did.Sharing != nil) {
				t.Errorf("unchanged, written %t, reported %v", wrote, did.Sharing)
			}
			if wrote {
				shared++
			}
		default:
			written++
		}
		// The server drops a map that it has emptied, but only treats it as empty in a second
		// apply, which diff announces.
		if _, err := applied(t, h.Server, h.manifest, p); err != nil {
			return // the server fails on its own result
		}
		if len(h.get(t).GetManagedFields()) == 0 {
			return // a manifest with only empty lists owns nothing, and the server drops its entry
		}
		if says, differs := compared(t, h.Server, h.manifest, p); differs != nil {
			t.Errorf("after two applies, diff reports %s: %v %v %v", says.Action, says.Changes, says.Sharing, says.Err)
		}
	})
	t.Logf("%d unchanged, %d of them written as shared, %d changed, %d in conflict with %d paths of one value in two spellings, %d refused",
		unchanged, shared, written, conflicts, spelt, refused)
	if cases >= 300 && (unchanged < cases/20 || shared == 0 || written < cases/20 || conflicts < cases/20) {
		t.Error("too few cases of some result: the test proves nothing")
	}
	if spelt > cases/50 {
		t.Errorf("%d false conflicts, want fewer", spelt)
	}
}

// areReal compares conflicts with the changes of a forced apply.
func (h *history) areReal(t *testing.T, conflicts []managedfields.Conflict, spelt *int) {
	t.Helper()
	live := h.get(t)
	answer, err := h.ask(t, h.manifest, true)
	if err != nil {
		return
	}
	for _, c := range conflicts {
		if len(c.Owners) == 0 {
			t.Errorf("%s has no owner", c.Path)
		}
		if c.SameValue {
			*spelt++
		}
		if c.SameValue != sameAt(c.Path, live, answer) {
			t.Errorf("%s changes: %t, reported: %t", c.Path, c.SameValue, !c.SameValue)
		}
	}
}

// A user who migrates from another tool with the applied manifests has no conflict, changes
// nothing, and then writes nothing.
func TestSameManifest(t *testing.T) {
	server, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	first, cases := number(t, "SEED", 0), number(t, "CASES", histories())
	for seed := first; seed < first+cases; seed++ {
		s, r := server.Empty(), newRandom(seed)
		manifest := &unstructured.Unstructured{Object: r.manifest(s.Schema(), pick(r, "v1", "v2"))}
		how := object.Write{Manager: "helm"}
		create := s.Apply
		if r.one(2) {
			create = s.Update
		}
		if _, err := create(t.Context(), object.Kind{}, manifest, how); err != nil {
			continue
		}
		p := predict.Predictor{Manager: us}
		if _, err := s.Empty().Apply(t.Context(), object.Kind{}, manifest, object.Write{Manager: us}); err != nil {
			continue // not every object that can be created can be applied
		}
		accepted++
		for run := range 2 {
			did, err := applied(t, s, manifest, p)
			if err != nil || did.Action != event.Unchanged && (run > 0 || did.Action != event.Shared) {
				t.Errorf("seed %d, run %d: %s, %v %v %v\nmanifest %v", seed, run, did.Action, did.Conflicts, did.Err, did.Sharing, manifest.Object)
			}
		}
		if t.Failed() {
			return
		}
	}
	if uint64(accepted) < cases/3 {
		t.Errorf("%d of %d manifests were accepted, want at least a third", accepted, cases)
	}
}
