package object

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Condition is one of .status.conditions, in any kind.
type Condition struct {
	Type, Status, Reason, Message string
	// Severity is Error, Warning or Info; only Knative and Cluster API set it.
	Severity string
	// ObservedGeneration is the generation of the spec that the condition is about. Observes
	// reports whether it is set.
	ObservedGeneration int64
	Observes           bool
	// Changed is when Status last changed, Updated when the condition was last written, which few
	// kinds record; zero if unknown.
	Changed, Updated time.Time
}

// Conditions returns the conditions in an object's status.
func Conditions(u *unstructured.Unstructured) []Condition {
	status, _ := u.Object["status"].(map[string]any)
	return ConditionsIn(status["conditions"])
}

// ConditionOf returns the condition of a type, or an empty one.
func ConditionOf(u *unstructured.Unstructured, kind string) Condition {
	all := Conditions(u)
	if i := slices.IndexFunc(all, func(c Condition) bool { return c.Type == kind }); i >= 0 {
		return all[i]
	}
	return Condition{}
}

// ConditionsIn returns the conditions in a JSON list from anywhere in an object: a Gateway has one
// for each listener, a route one for each parent. It ignores items without a type.
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
