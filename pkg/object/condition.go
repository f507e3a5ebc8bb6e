package object

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition is an item of .status.conditions, in an object of any kind.
type Condition struct {
	Type, Status, Reason, Message string
	// Severity is Error, Warning or Info; only Knative and Cluster API set it.
	Severity string
	// ObservedGeneration is the generation of the object that the condition is about. Observes
	// reports whether ObservedGeneration is set.
	ObservedGeneration int64
	Observes           bool
	// Changed is when Status last changed. Updated is when the condition was last written, which
	// few kinds record. Each is zero if unknown.
	Changed, Updated time.Time
}

// Conditions returns the conditions in an object's status.
func Conditions(u *unstructured.Unstructured) []Condition {
	status, _ := u.Object["status"].(map[string]any)
	return ConditionsIn(status["conditions"])
}

// ConditionOf returns the condition of the type, or an empty condition if there is none.
func ConditionOf(u *unstructured.Unstructured, kind string) Condition {
	all := Conditions(u)
	if i := slices.IndexFunc(all, func(c Condition) bool { return c.Type == kind }); i >= 0 {
		return all[i]
	}
	return Condition{}
}

// ConditionsIn returns the conditions in a JSON list. Such lists are also elsewhere in an object: a
// Gateway has one for each listener, and a route has one for each parent. Items without a type are
// ignored.
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
