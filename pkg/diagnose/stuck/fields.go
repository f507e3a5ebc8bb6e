package stuck

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// text reads a text; empty where there is none.
func text(u *unstructured.Unstructured, path ...string) string {
	if u == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// items reads a list of maps; what is none is left out.
func items(u *unstructured.Unstructured, path ...string) []map[string]any {
	if u == nil {
		return nil
	}
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
	list, _ := value.([]any)
	var maps []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// condition is one of status.conditions.
type condition struct{ status, reason, message string }

func (c condition) String() string { return quote(c.reason + ": " + c.message) }

// conditionOf reads a condition; empty where there is none.
func conditionOf(u *unstructured.Unstructured, kind string) condition {
	for _, c := range items(u, "status", "conditions") {
		if c["type"] == kind {
			field := func(name string) string { s, _ := c[name].(string); return s }
			return condition{field("status"), field("reason"), field("message")}
		}
	}
	return condition{}
}
