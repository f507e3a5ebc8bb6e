package condition

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// exists is --for=create.
type exists struct{}

func (exists) readTree() tree { return tree{} }

func (exists) judge(_ context.Context, obj map[string]any, _ time.Time) Verdict {
	if obj == nil {
		return notFound()
	}
	return Verdict{Met: true}
}

// gone is --for=delete.
type gone struct{}

func (gone) readTree() tree {
	return tree{"metadata": tree{"finalizers": nil, "deletionTimestamp": nil}}
}

func (gone) judge(_ context.Context, obj map[string]any, _ time.Time) Verdict {
	if obj == nil {
		return Verdict{Met: true}
	}
	f := fields(obj)
	if f.text("metadata", "deletionTimestamp") == "" {
		return Verdict{Reason: ReasonExists, Message: "exists, and nobody has deleted it"}
	}
	v := Verdict{Reason: ReasonTerminating, Message: "is being deleted"}
	var finalizers []string
	for _, item := range f.list("metadata", "finalizers") {
		finalizers = append(finalizers, fmt.Sprint(item))
	}
	if len(finalizers) > 0 {
		v.Message += ", held back by the finalizers " + strings.Join(finalizers, ", ")
		v.Values = []Value{{Expr: "self.metadata.finalizers", Value: f.list("metadata", "finalizers")}}
	}
	return v
}
