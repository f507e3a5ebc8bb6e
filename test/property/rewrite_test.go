package property_test

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/predict/adopt"
)

// An adoption that rewrites managed fields before the apply takes from other owners only the fields
// that become ours, and all of those are ours.
func TestAdoptionLosesNothing(t *testing.T) {
	rewritten := 0
	cases := eachHistory(t, func(t *testing.T, h *history) {
		live := h.live
		names := []string{pick(h.random, "edit", "helm", "team-b")}
		if h.one(2) {
			names = []string{"edit", "helm", "team-b", us}
		}
		adoption, err := adopt.Plan(live, us, adopt.From{Always: names})
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := h.ask(t, h.manifest, true); err == nil && h.one(2) {
			if adoption, err = adoption.Leave(answer); err != nil {
				t.Fatal(err)
			}
		}
		fields, err := adoption.Transfer()
		if err != nil {
			t.Fatal(err)
		}
		if fields == nil {
			return
		}
		rewritten++
		then := live.DeepCopy()
		if err := unstructured.SetNestedSlice(then.Object, fields, "metadata", "managedFields"); err != nil {
			t.Fatal(err)
		}
		before, after := entriesOf(t, live), entriesOf(t, then)
		ours, _ := managedfields.AppliedBy(after, us)
		for _, e := range before {
			held := fieldpath.NewSet()
			for _, now := range after {
				if now.Equal(e.Owner) {
					held = held.Union(now.Fields)
				}
			}
			if slices.ContainsFunc(adoption.Adopted, e.Equal) {
				held = held.Union(ours.Fields)
			}
			if lost := e.Fields.Difference(held); !lost.Empty() {
				t.Errorf("%s no longer owns %s", e.Owner, lost)
			}
		}
	})
	t.Logf("%d rewritten", rewritten)
	if cases >= 300 && rewritten < cases/10 {
		t.Error("too few rewrites: the test proves nothing")
	}
}

func entriesOf(t *testing.T, u *unstructured.Unstructured) []managedfields.Entry {
	t.Helper()
	entries, err := managedfields.Entries(u)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// A second apply changes no ownership, and no content except an empty map or list that the server
// had just emptied, and so treated as null in the first apply.
func TestSecondApply(t *testing.T) {
	applies, again := 0, 0
	cases := eachHistory(t, func(t *testing.T, h *history) {
		p := predict.Predictor{Manager: us, Take: []predict.Choice{{}}}
		if _, err := applied(t, h.Server, h.manifest, p); err != nil {
			return
		}
		applies++
		before := h.get(t)
		did, err := applied(t, h.Server, h.manifest, p)
		if err != nil {
			return // the server fails on its own result
		}
		after := h.get(t)
		if after.GetResourceVersion() != before.GetResourceVersion() {
			again++
		}
		if !sameOwners(before, after) || did.Sharing != nil {
			t.Errorf("the second apply changes owners: %v\n%v\n%v", did.Sharing, owned(before), owned(after))
		}
		if !reflect.DeepEqual(filled(before.Object["spec"]), filled(after.Object["spec"])) {
			t.Errorf("the second apply changes\n%v\nto\n%v", before.Object["spec"], after.Object["spec"])
		}
	})
	t.Logf("%d applies, %d wrote again", applies, again)
	if cases >= 300 && applies < cases/2 || again > applies/50 {
		t.Error("too few applies, or too many that write again: the test proves nothing")
	}
}

// filled returns a value without empty maps, lists and nulls, or nil if nothing remains.
func filled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, below := range v {
			if below = filled(below); below != nil {
				out[name] = below
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = filled(v[i])
		}
		if len(out) > 0 {
			return out
		}
		return nil
	}
	return v
}
