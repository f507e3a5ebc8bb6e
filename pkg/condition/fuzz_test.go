package condition

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Any input is rejected or evaluated, without a panic. The position of an error is within the
// input. A verdict is never both met and unknown. A trimmed object has the same verdict as the
// whole one.
func FuzzConditions(f *testing.F) {
	for _, text := range []string{
		"ready", "condition=Ready=False", "jsonpath={.status.phase}=Running", "self.status.readyReplicas == self.spec.replicas",
		"self.status.?conditions.orValue([]).exists(c, c.type == 'x')", "has(self.status.x)", "self.metadata.labels['a'] in ['b']",
		"self.status.conditions[0].type.matches('^A')", "jsonpath={.a[?(@.b==1)]}", "{}", "[self]", "self.a[self.b]", "quantity('1') == self.x",
		"self.spec.rules.filter(r, r.value.a == 1)[0].name == 'x'", "self.metadata.labels.all(k, v, k == v)", "self.status.phase = 1",
		"jsonpath={.a[0:3:2]}=1", "jsonpath={..x}", "jsonpath={.a['b','c']}", "optional.none().value() == 1", "cel=self.\n  a ==",
	} {
		for _, obj := range []string{shop, thing, `{metadata: {name: 7}, status: [{}]}`, `{status: {conditions: {a: [1]}, containerStatuses: [7]}}`} {
			raw, err := json.Marshal(objectOf(f, obj))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text, raw)
		}
	}
	kinds := map[schema.GroupVersionKind]*spec.Schema{
		deployment(): schemaOf(f, "deployment"), secrets(): nil, widgetKind(): definedSchema(f, widget),
		{Version: "v1", Kind: "Pod"}: nil, {Group: "batch", Version: "v1", Kind: "Job"}: nil,
	}
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		one, err := Parse(text)
		if err != nil {
			return
		}
		var obj map[string]any
		if utiljson.Unmarshal(raw, &obj) != nil || obj == nil {
			obj = objectOf(t, web)
		}
		for gvk, s := range kinds {
			conds, err := Compile(gvk, s, []Spec{one})
			if err != nil {
				checkPlace(t, err)
				continue
			}
			now := time.Unix(1e9, 0)
			got, trimmed := conds[0].EvaluateAt(t.Context(), obj, now), conds[0].EvaluateAt(t.Context(), Trim(obj, conds...), now)
			if got.Met && (got.Err != nil || got.Failed) {
				t.Errorf("%q: %+v", text, got)
			}
			if got.Err == nil && trimmed.Err == nil && (got.Met != trimmed.Met || got.Failed != trimmed.Failed) {
				t.Errorf("%q on %s: %+v, trimmed %+v", text, raw, got, trimmed)
			}
		}
	})
}

func checkPlace(t *testing.T, err error) {
	wrong, ok := errors.AsType[*CompileError](err)
	if !ok {
		t.Fatalf("%T is not a CompileError", err)
	}
	lines := strings.Split(wrong.Spec.Text, "\n")
	if wrong.Message == "" || strings.Contains(wrong.Message, "\n") || wrong.Line > len(lines) {
		t.Errorf("%+v", wrong)
	}
	if wrong.Line > 0 && wrong.Column > len([]rune(lines[wrong.Line-1]))+1 {
		t.Errorf("column %d is outside of the line %q", wrong.Column, lines[wrong.Line-1])
	}
}
