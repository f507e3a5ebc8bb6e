package property_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
)

// leavesOf returns the paths that a manager owns without owning anything below, from the server's
// managed fields.
func leavesOf(t *testing.T, u *unstructured.Unstructured, manager string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	var walk func(at []string, tree map[string]any)
	walk = func(at []string, tree map[string]any) {
		for name, below := range tree {
			if name == "." {
				continue
			}
			next := append(slices.Clone(at), name)
			if children, _ := below.(map[string]any); len(children) > 0 {
				walk(next, children)
			} else {
				out[strings.Join(next, "\n")] = true
			}
		}
	}
	for _, e := range u.GetManagedFields() {
		if e.Manager != manager || e.Manager == us && e.Operation == metav1.ManagedFieldsOperationApply {
			continue
		}
		var tree map[string]any
		if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &tree); err != nil {
			t.Fatal(err)
		}
		walk(nil, tree)
	}
	return out
}

// spelt formats a path like managed fields.
func spelt(t *testing.T, p fieldpath.Path) string {
	t.Helper()
	var parts []string
	for _, pe := range p {
		var value any
		kind := "f:"
		switch {
		case pe.FieldName != nil:
			parts = append(parts, kind+*pe.FieldName)
			continue
		case pe.Key != nil:
			kind, value = "k:", fieldpath.KeyOf(pe)
		case pe.Value != nil:
			kind, value = "v:", (*pe.Value).Unstructured()
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, kind+string(text))
	}
	return strings.Join(parts, "\n")
}

// A rule for a manager yields only its fields, and takes none of them, even if everything else is
// taken.
func TestRuleByManager(t *testing.T) {
	applies, yields, refused := 0, 0, 0
	cases := eachHistory(t, func(t *testing.T, h *history) {
		before := h.get(t)
		entries := before.GetManagedFields()
		if len(entries) == 0 {
			return
		}
		manager := entries[h.IntN(len(entries))].Manager
		held := leavesOf(t, before, manager)
		did, err := applied(t, h.Server, h.manifest, predict.Predictor{
			Manager: us, Take: []predict.Choice{{}},
			Standing: predict.Standing{Yield: []predict.Choice{{Manager: manager, From: "k8sconnect.yaml:2"}}},
		})
		if err != nil {
			refused++
			return
		}
		applies++
		for _, path := range did.Yielded {
			yields++
			if !held[spelt(t, path)] {
				t.Errorf("%s is yielded, but %s does not own it", path, manager)
			}
			if !sameAt(path, before, h.get(t)) {
				t.Errorf("%s is yielded, but its value changed", path)
			}
		}
		for _, c := range did.Taken {
			value, had := c.Path.Get(before.Object)
			if _, is := value.(map[string]any); is || !had {
				continue // a parent, or a removed value
			}
			if held[spelt(t, c.Path)] && !isNothing(value) {
				t.Errorf("%s is taken, but %s owns it", c.Path, manager)
			}
		}
	})
	t.Logf("%d applied, %d paths yielded, %d refused", applies, yields, refused)
	if cases >= 300 && (applies < cases/2 || yields < cases/4) {
		t.Errorf("%d applied and %d yielded: too few, the test proves nothing", applies, yields)
	}
}

// isNothing reports whether a value has no content that could be owned.
func isNothing(v any) bool {
	list, is := v.([]any)
	return is && len(list) == 0
}
