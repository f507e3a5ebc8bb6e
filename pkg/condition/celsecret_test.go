package condition

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestErrorOfSecretShowsNoValue(t *testing.T) {
	secret := map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"},
		"data": map[string]any{"password": "aHVudGVyMg=="},
	}
	for _, expr := range []string{
		`"a".matches("(" + self.data.password.upperAscii())`,
		`{"a": true}[self.data.password + "x"]`,
	} {
		compiled, err := Compile(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, nil, []Spec{{Kind: CEL, Text: expr, Expression: expr}})
		if err != nil {
			t.Fatal(err)
		}
		v := compiled[0].EvaluateAt(t.Context(), secret, time.Now())
		shown := v.Message
		if v.Err != nil {
			shown += v.Err.Error()
		}
		if v.Met || strings.Contains(strings.ToUpper(shown), "AHVUDGVY") {
			t.Errorf("%s: %q, %v", expr, v.Message, v.Err)
		}
	}
}

func TestHasBelowAbsentIsAbsent(t *testing.T) {
	expr := "!has(self.status.conditions)"
	compiled, err := Compile(schema.GroupVersionKind{Group: "ex.io", Version: "v1", Kind: "Widget"}, nil, []Spec{{Kind: CEL, Text: expr, Expression: expr}})
	if err != nil {
		t.Fatal(err)
	}
	v := compiled[0].EvaluateAt(t.Context(), map[string]any{"kind": "Widget"}, time.Now())
	if v.Met || v.Err != nil || v.Message != "there is no self.status" {
		t.Errorf("%+v", v)
	}
}
