package object

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition is an item of .status.conditions, in an object of any kind.
type Condition struct {
	Type, Status, Reason, Message string
	Severity                      string
	ObservedGeneration            int64
	Observes                      bool
	// Changed is the time when Status last changed, and Updated is the time when the condition was
	// last written. A zero time means unknown.
	Changed, Updated time.Time
}

// Conditions returns the conditions in an object's status.
func Conditions(u *unstructured.Unstructured) []Condition {
	status, _ := u.Object["status"].(map[string]any)
	return ConditionsIn(status["conditions"])
}

// ConditionOf returns the condition of the given type, or an empty condition if there is none.
func ConditionOf(u *unstructured.Unstructured, kind string) Condition {
	all := Conditions(u)
	if i := slices.IndexFunc(all, func(c Condition) bool { return c.Type == kind }); i >= 0 {
		return all[i]
	}
	return Condition{}
}

// ConditionsIn returns the conditions in a JSON list. It skips items without a type.
func ConditionsIn(list any) []Condition {
	items, _ := list.([]any)
	var out []Condition
	for _, item := range items {
		m, _ := item.(map[string]any)
		field := func(name string) string { s, _ := m[name].(string); return s }
		c := Condition{Type: field("type"), Status: field("status"), Reason: field("reason"), Message: field("message"), Severity: field("severity")}
		if c.Type == "" {
			continue
		}
		c.ObservedGeneration, c.Observes = WholeNumber(m["observedGeneration"])
		c.Changed, _ = time.Parse(time.RFC3339, field("lastTransitionTime"))
		c.Updated, _ = time.Parse(time.RFC3339, field("lastUpdateTime"))
		out = append(out, c)
	}
	return out
}
