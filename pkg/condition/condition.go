// Package condition parses the conditions of a wait and evaluates them on one version of one
// object. Call [Parse], then [Compile] once for a kind, then Evaluate on each object. It reads no
// clock, asks no server and does not wait.
package condition

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition/cel"
)

// Condition is a Spec compiled for one kind. It is safe for concurrent use.
type Condition struct {
	spec Spec
	how  evaluator
}

// evaluator is one way to evaluate a condition.
type evaluator interface {
	// evaluate evaluates the condition on an object that exists.
	evaluate(ctx context.Context, obj map[string]any, now time.Time) Verdict
	// reads returns what the condition reads of an object.
	reads() cel.Reads
}

// Compile types and compiles the specs for one kind. s is the OpenAPI v3 schema
// of the kind with its references resolved; nil leaves everything dynamic. The
// error joins a *CompileError for each spec that does not compile, and a *RuleError for
// each formula of the rule that is stated of the kind.
func Compile(gvk schema.GroupVersionKind, s *spec.Schema, specs []Spec) ([]*Condition, error) {
	var (
		out  = make([]*Condition, len(specs))
		errs []error
		cel  = cel.Language{GVK: gvk, Schema: s}
	)
	for i, one := range specs {
		out[i] = &Condition{spec: one}
		var err error
		switch one.Kind {
		case Ready:
			out[i].how, err = newReady(gvk, s, one)
		case CEL:
			out[i].how, err = compileCEL(&cel, one)
		case Status:
			out[i].how, err = newStatus(gvk, s, one)
		case JSONPath:
			out[i].how, err = newPath(gvk, s, one)
		case Create, Delete:
			out[i].how = existence{}
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// Spec returns what was compiled.
func (c *Condition) Spec() Spec { return c.spec }

// EvaluateAt evaluates the condition on one version of one object; nil means that the
// object does not exist. At a known time, what has lasted too long is Failed (a pod that
// could not be scheduled, a crash loop); with a zero time, nothing fails for that.
func (c *Condition) EvaluateAt(ctx context.Context, obj map[string]any, now time.Time) Verdict {
	switch {
	case c.spec.Kind == Delete && obj != nil:
		return Verdict{Reason: "Present", Message: present(obj)}
	case c.spec.Kind == Delete:
		return Verdict{Met: true, Reason: "Deleted", Message: "it does not exist"}
	case obj == nil:
		return Verdict{Reason: "NotFound", Message: "it does not exist"}
	default:
		return c.how.evaluate(ctx, obj, now)
	}
}

func present(obj map[string]any) string {
	if meta, _ := obj["metadata"].(map[string]any); meta["deletionTimestamp"] != nil {
		return "it is being deleted"
	}
	return "it exists"
}

// existence evaluates create.
type existence struct{}

func (existence) evaluate(context.Context, map[string]any, time.Time) Verdict {
	return Verdict{Met: true, Reason: "Created", Message: "it exists"}
}

func (existence) reads() cel.Reads { return cel.Reads{} }
