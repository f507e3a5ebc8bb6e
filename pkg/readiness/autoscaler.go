package readiness

import "encoding/json"

// autoscalerConditions is the annotation that holds an autoscaler's conditions at
// autoscaling/v1, whose status has none (edge case 96).
const autoscalerConditions = "autoscaling.alpha.kubernetes.io/conditions"

// evaluateAutoscaler also calls an autoscaler ready that has nothing to do because its
// target is scaled to zero.
func evaluateAutoscaler(s *subject) Verdict {
	s = withConditionsOfV1(s)
	able, active := s.condition("AbleToScale"), s.condition("ScalingActive")
	switch {
	case active.is("False") && active.reason == "ScalingDisabled":
		return met("its target is scaled to zero", active.value())
	case able.is("True") && active.is("True"):
		return met("it scales", able.value(), active.value())
	case !able.there():
		return unmet("NoStatus", "no controller has looked at it yet", able.value())
	case !able.is("True"):
		return unmet("InProgress", "it cannot scale"+able.detail(), able.value())
	}
	return unmet("InProgress", "it does not scale"+active.detail(), active.value())
}

// withConditionsOfV1 returns the autoscaler with the conditions of its annotation, if its
// status has none.
func withConditionsOfV1(s *subject) *subject {
	annotations, _ := at(s.obj, "metadata.annotations")
	all, _ := annotations.(map[string]any)
	text, _ := all[autoscalerConditions].(string)
	var list []any
	if len(s.conditions) > 0 || json.Unmarshal([]byte(text), &list) != nil {
		return s
	}
	out := *s
	out.conditions = conditionsAt(map[string]any{"conditions": list}, s.generation, "conditions")
	for i := range out.conditions {
		out.conditions[i].path = `metadata.annotations["` + autoscalerConditions + `"]`
	}
	return &out
}
