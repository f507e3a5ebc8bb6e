package object

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestConditions(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False", "reason": "R", "message": "m", "observedGeneration": int64(0), "lastTransitionTime": "2026-03-01T12:00:00Z"},
		map[string]any{"type": "Text", "observedGeneration": "7", "lastTransitionTime": "yesterday"},
		map[string]any{"status": "True"},
		map[string]any{"type": int64(1)},
		"no condition", nil,
	}}}}
	want := []Condition{
		{Type: "Ready", Status: "False", Reason: "R", Message: "m", Observes: true, Changed: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)},
		{Type: "Text", ObservedGeneration: 7, Observes: true}, // edge case 47
	}
	if diff := cmp.Diff(want, Conditions(u)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ConditionOf(u, "Text"); got != want[1] {
		t.Errorf("got %v", got)
	}
	for name, status := range map[string]any{"no status": nil, "text": "x", "no list": map[string]any{"conditions": "x"}} {
		u := &unstructured.Unstructured{Object: map[string]any{"status": status}}
		if got := Conditions(u); got != nil || ConditionOf(u, "Ready") != (Condition{}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
