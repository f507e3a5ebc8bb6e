package condition

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// statusCondition is condition=TYPE[=STATUS]: types and statuses are compared
// without case, as kubectl compares them.
type statusCondition struct {
	kind, status string
}

func (statusCondition) readTree() tree {
	return tree{
		"metadata": tree{"generation": nil},
		"status":   tree{"conditions": nil, "observedGeneration": nil},
	}
}

func (s statusCondition) judge(_ context.Context, obj map[string]any, _ time.Time) Verdict {
	if obj == nil {
		return notFound()
	}
	f := fields(obj)
	expr := "condition=" + s.kind
	var others []string
	for _, c := range f.conditions() {
		if !strings.EqualFold(c.kind, s.kind) {
			others = append(others, c.kind)
			continue
		}
		v := Verdict{Values: []Value{{Expr: expr, Value: c.status}}}
		// A condition that says what it observed speaks for itself; any other, as
		// the status as a whole does.
		stale := c.stale || !c.observed && f.staleStatus()
		switch {
		case stale:
			v.Reason, v.Message = ReasonStaleStatus, c.kind+" speaks of an earlier generation of the object"
		case strings.EqualFold(c.status, s.status):
			v.Met = true
		default:
			v.Reason, v.Message = ReasonFalse, c.sentence()
		}
		return v
	}
	v := Verdict{Reason: ReasonAbsent, Values: []Value{{Expr: expr, Absent: true}}}
	v.Message = fmt.Sprintf("there is no condition %s", s.kind)
	if len(others) > 0 {
		v.Message += "; there are " + strings.Join(others, ", ")
	}
	return v
}

// sentence says what the condition says.
func (s says) sentence() string {
	text := s.kind + " is " + s.status
	switch {
	case s.message != "" && s.reason != "":
		return text + ": " + s.reason + ": " + oneLine(s.message)
	case s.message != "" || s.reason != "":
		return text + ": " + s.reason + oneLine(s.message)
	default:
		return text
	}
}
