package condition

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition/cel"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// conditionType evaluates condition=TYPE[=STATUS].
type conditionType struct {
	wantType, want string
}

// newStatus refuses kinds of which the schema says that they have no conditions:
// such a wait would never end.
func newStatus(gvk schema.GroupVersionKind, s *spec.Schema, one Spec) (*conditionType, error) {
	if s != nil && !cel.IsOpen(s) {
		if _, ok := s.Properties["status"]; !ok {
			return nil, &CompileError{Spec: one, Message: gvk.Kind + " has no status"}
		}
		within := s.Properties["status"]
		if _, ok := within.Properties["conditions"]; !ok && !cel.IsOpen(&within) {
			return nil, &CompileError{Spec: one, Message: "the status of " + gvk.Kind + " has no conditions"}
		}
	}
	return &conditionType{one.Type, one.Value}, nil
}

func (s *conditionType) reads() cel.Reads {
	return cel.Reads{Paths: [][]string{{"status", "conditions"}, {"status", "observedGeneration"}}}
}

// evaluate compares as kubectl does, without regard to case. A statement about an earlier
// generation counts for nothing (edge case 47).
func (s *conditionType) evaluate(_ context.Context, obj map[string]any, _ time.Time) Verdict {
	inner, _ := obj["status"].(map[string]any)
	value := readiness.Value{Expr: "condition " + s.wantType}
	list := object.ConditionsIn(inner["conditions"])
	i := slices.IndexFunc(list, func(c object.Condition) bool { return strings.EqualFold(c.Type, s.wantType) })
	if i < 0 {
		value.Absent = true
		return Verdict{Reason: "Absent", Message: s.absence(inner), Values: []readiness.Value{value}}
	}
	found := list[i]
	value.Value = found.Status
	out := Verdict{Met: strings.EqualFold(found.Status, s.want), Reason: cmp.Or(found.Reason, "Condition"), Message: found.Message, Values: []readiness.Value{value}}
	// The condition's own generation counts before that of the status, as for kubectl.
	observed, says := found.ObservedGeneration, found.Observes
	if !says {
		observed, says = object.WholeNumber(inner["observedGeneration"])
	}
	if generation, _ := object.WholeNumber(cel.Meta(obj)["generation"]); says && observed < generation {
		out.Met, out.Reason = false, "StaleStatus"
		out.Message = fmt.Sprintf("%s is %s, but of generation %d, and the object is at %d", s.wantType, found.Status, observed, generation)
	}
	return out
}

// absence says that an object has no such condition now, and which one may have been meant.
// It may still come: only the controller knows all that there will be.
func (s *conditionType) absence(status map[string]any) string {
	const most = 8
	var has []string
	for _, c := range object.ConditionsIn(status["conditions"]) {
		if c.Type != "" && !slices.Contains(has, c.Type) {
			has = append(has, c.Type)
		}
	}
	absent := "there is no condition " + s.wantType
	if meant := text.Nearest(s.wantType, has); meant != "" {
		return absent + "; did you mean " + meant + "?"
	}
	if len(has) == 0 {
		return absent
	}
	if more := len(has) - most; more > 0 {
		has = append(has[:most], fmt.Sprintf("%d more", more))
	}
	return absent + "; there are " + strings.Join(has, ", ")
}
