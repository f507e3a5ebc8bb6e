package condition

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// conditionType judges condition=TYPE[=STATUS].
type conditionType struct {
	wantType, want string
}

// newStatus refuses kinds of which the schema says that they have no conditions:
// such a wait would never end.
func newStatus(gvk schema.GroupVersionKind, s *spec.Schema, one Spec) (judge, error) {
	if s != nil && !isOpen(s) {
		if _, ok := s.Properties["status"]; !ok {
			return nil, &CompileError{Spec: one, Message: gvk.Kind + " has no status"}
		}
		within := s.Properties["status"]
		if _, ok := within.Properties["conditions"]; !ok && !isOpen(&within) {
			return nil, &CompileError{Spec: one, Message: "the status of " + gvk.Kind + " has no conditions"}
		}
	}
	return &conditionType{one.Type, one.Value}, nil
}

func (s *conditionType) reads() reads {
	return reads{paths: [][]string{{"status", "conditions"}, {"status", "observedGeneration"}}}
}

// judge compares as kubectl does, without regard to case. What was said of an
// earlier generation counts for nothing (edge case 47).
func (s *conditionType) judge(_ context.Context, obj map[string]any, _ time.Time) Verdict {
	inner, _ := obj["status"].(map[string]any)
	value := Value{Expr: "condition " + s.wantType}
	found := conditionOf(inner, s.wantType)
	if found == nil {
		value.Absent = true
		return Verdict{Reason: "Absent", Message: "there is no condition " + s.wantType, Values: []Value{value}}
	}
	is, _ := found["status"].(string)
	reason, _ := found["reason"].(string)
	message, _ := found["message"].(string)
	value.Value = is
	out := Verdict{Met: strings.EqualFold(is, s.want), Reason: reason, Message: message, Values: []Value{value}}
	if out.Reason == "" {
		out.Reason = "Condition"
	}
	generation := number(meta(obj)["generation"])
	// What the condition says of itself counts before what the status says of all of
	// them, as for kubectl.
	observed := found["observedGeneration"]
	if observed == nil {
		observed = inner["observedGeneration"]
	}
	if n := number(observed); observed != nil && n < generation {
		out.Met, out.Reason = false, "StaleStatus"
		out.Message = fmt.Sprintf("%s is %s, but of generation %d, and the object is at %d", s.wantType, is, n, generation)
	}
	return out
}

// conditionOf returns one of status.conditions.
func conditionOf(status map[string]any, wanted string) map[string]any {
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		c, _ := item.(map[string]any)
		if t, _ := c["type"].(string); strings.EqualFold(t, wanted) {
			return c
		}
	}
	return nil
}

func meta(obj map[string]any) map[string]any {
	m, _ := obj["metadata"].(map[string]any)
	return m
}

// number reads a generation, which some write as text (helm#32615); 0 if it is
// none.
func number(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	case string:
		var out int64
		if _, err := fmt.Sscanf(n, "%d", &out); err == nil {
			return out
		}
	}
	return 0
}
