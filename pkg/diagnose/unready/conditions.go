package unready

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// condition is one of .status.conditions, in whatever kind.
type condition struct {
	Type, Status, Reason, Message string
	// ObservedGeneration is 0 where the condition does not tell.
	ObservedGeneration int64
}

// conditionsOf reads the conditions of an object, as far as they look like some.
func conditionsOf(u *unstructured.Unstructured) []condition {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	var out []condition
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(field string) string {
			s, _, _ := unstructured.NestedString(m, field)
			return s
		}
		c := condition{Type: text("type"), Status: text("status"), Reason: text("reason"), Message: text("message")}
		c.ObservedGeneration, _ = wholeNumber(m["observedGeneration"])
		if c.Type != "" {
			out = append(out, c)
		}
	}
	return out
}

// conditionOf returns the condition of a type; an empty one where there is none.
func conditionOf(u *unstructured.Unstructured, kind string) condition {
	all := conditionsOf(u)
	if i := slices.IndexFunc(all, func(c condition) bool { return c.Type == kind }); i >= 0 {
		return all[i]
	}
	return condition{}
}

// line is a condition as evidence.
func (c condition) line() string {
	text := "condition " + clean(c.Type) + "=" + clean(c.Status)
	if c.Reason != "" {
		text += " (" + clean(c.Reason) + ")"
	}
	if c.Message != "" {
		text += ": " + clean(c.Message)
	}
	return text
}

func conditionLines(all []condition, wanted func(condition) bool) []string {
	var out []string
	for _, c := range all {
		if wanted(c) {
			out = append(out, c.line())
		}
	}
	return out
}

// wholeNumber reads a generation, which some controllers write as a string
// (edge case 47, helm#32615).
func wholeNumber(v any) (n int64, ok bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}
