package readiness

import (
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// statusCondition is one of an object's conditions, or the zero value if there is none of
// that type.
type statusCondition struct {
	kind, status, reason, message string
	// path is that of its list: status.conditions.
	path string
	// generation is the one for which it was written; zero if it does not say.
	generation int64
	// old is set if it was written for an earlier generation of the object, and says
	// nothing about the present one (edge case 47,
	// https://github.com/kubernetes/kubernetes/issues/97408).
	old bool
	// when is the time of its last transition, updated that of its last write, which few
	// kinds record.
	when, updated time.Time
}

// conditionsAt reads the conditions at a path. It skips what does not look like one.
func conditionsAt(obj map[string]any, generation int64, path string) []statusCondition {
	var out []statusCondition
	list, _ := at(obj, path)
	for _, c := range object.ConditionsIn(list) {
		out = append(out, statusCondition{
			kind: c.Type, status: c.Status, reason: c.Reason, message: c.Message,
			path: path, when: c.Changed, updated: c.Updated, generation: c.ObservedGeneration,
			// Some controllers copy conditions from other objects, whose generation may be
			// higher.
			old: c.ObservedGeneration > 0 && c.ObservedGeneration < generation,
		})
	}
	return out
}

// is reports whether the condition has the status for the present generation.
func (c statusCondition) is(status string) bool { return c.status == status && !c.old }

// there reports whether there is such a condition.
func (c statusCondition) there() bool { return c.status != "" }

// detail returns the condition's reason and message, to be appended to a sentence.
func (c statusCondition) detail() string { return Detail(c.reason, c.message) }

func (c statusCondition) value() Value {
	v := Value{Expr: "self." + c.path + `[type="` + c.kind + `"].status`, Absent: !c.there()}
	if c.there() {
		v.Value = c.status
	}
	return v
}

func (c statusCondition) generationValue() Value {
	return Value{Expr: "self." + c.path + `[type="` + c.kind + `"].observedGeneration`, Value: c.generation}
}
