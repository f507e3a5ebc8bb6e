// Package condition parses the conditions of a wait and evaluates them on one version of an object.
// It reads no clock, sends no requests and never waits. Call [Parse], then [Compile] once for a
// kind, and then EvaluateAt for each object.
package condition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition/cel"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Condition is a Spec compiled for one kind. It is safe for concurrent use.
type Condition struct {
	spec Spec
	how  evaluator
}

type evaluator interface {
	evaluate(ctx context.Context, obj map[string]any, now time.Time) Verdict
	reads() cel.Reads
}

// Compile compiles specs for a kind. s is the kind's OpenAPI v3 schema with references resolved;
// with nil, expressions are untyped. The error joins a *CompileError for each wrong spec, and a
// *Error for each wrong formula of the kind's rule.
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

// Spec returns the spec of the condition.
func (c *Condition) Spec() Spec { return c.spec }

// EvaluateAt evaluates the condition on one version of an object; nil means that it does not exist.
// now is the current time. Some faults, such as a Pod that cannot be scheduled, count as a failure
// only if they have lasted for a while by then. If now is zero, they never count as a failure.
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

// existence need not handle absent objects, because EvaluateAt does.
type existence struct{}

func (existence) evaluate(context.Context, map[string]any, time.Time) Verdict {
	return Verdict{Met: true, Reason: "Created", Message: "it exists"}
}

func (existence) reads() cel.Reads { return cel.Reads{} }

// Kind is the kind of a condition.
type Kind string

// Ready is one of the kinds of conditions that --for accepts.
const (
	// Ready is the readiness of the whole object (docs/readiness.md).
	Ready Kind = "ready"
	// CEL is an expression over self, the object.
	CEL Kind = "cel"
	// Status is condition=TYPE[=STATUS], an item of status.conditions.
	Status Kind = "condition"
	// JSONPath is jsonpath={…}[=VALUE], as in kubectl.
	JSONPath Kind = "jsonpath"
	Create   Kind = "create"
	Delete   Kind = "delete"
)

// Spec is a parsed --for or --fail-on.
type Spec struct {
	Kind Kind
	Text string
	// Expression is the CEL or JSONPath in Text.
	Expression string
	Type       string
	// Value is the expected value of the status condition or, if HasValue is set, of the JSONPath.
	Value    string
	HasValue bool
	// Rules apply to Ready; nil means the built-in table.
	Rules *Set
	// Once is set if the condition is evaluated only once. A fault then counts as lasting.
	Once bool
}

type specError struct{ text, message, hint string }

func (e *specError) Error() string { return fmt.Sprintf("%q: %s", e.text, e.message) }

func (e *specError) Hint() string { return e.hint }

// NeedsSchema reports whether Compile needs the kind's schema. For many kinds, Ready does not.
func (s Spec) NeedsSchema(gvk schema.GroupVersionKind) bool {
	switch s.Kind {
	case CEL, JSONPath:
		return true
	case Ready:
		return readiness.NeedsSchema(gvk)
	default:
		return false
	}
}

type inCEL struct{ expression *cel.Expression }

func compileCEL(l *cel.Language, one Spec) (*inCEL, error) {
	x, err := l.Compile(one.Expression)
	if err != nil {
		return nil, one.invalid(err)
	}
	return &inCEL{x}, nil
}

func (c *inCEL) evaluate(ctx context.Context, obj map[string]any, _ time.Time) Verdict {
	r := c.expression.Evaluate(ctx, obj)
	return Verdict{Met: r.Met, Reason: r.Reason, Message: r.Message, Values: r.Values, Err: r.Err}
}

func (c *inCEL) reads() cel.Reads { return c.expression.Read }

// invalid returns the error with its position in Text instead of the expression.
func (s Spec) invalid(err error) error {
	at, ok := errors.AsType[*cel.Error](err)
	if !ok {
		return err
	}
	out := &CompileError{Spec: s, Line: at.Line, Column: at.Column, Message: at.Message, Suggestion: at.Suggestion, Advice: at.Advice}
	if at.Line == 1 {
		out.Column += utf8.RuneCountInString(s.Text[:max(0, strings.Index(s.Text, s.Expression))])
	}
	return out
}

type conditionType struct {
	wantType, want string
}

// newStatus rejects a schema without status.conditions, because the wait would never end.
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

// Like kubectl, evaluate ignores case. A condition for an earlier generation is not met (edge case
// 47).
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
	// As in kubectl, the condition's observed generation takes precedence over that of the status.
	observed, says := found.ObservedGeneration, found.Observes
	if !says {
		observed, says = object.WholeNumber(inner["observedGeneration"])
	}
	if generation, _ := object.WholeNumber(cel.Meta(obj)["generation"]); says && observed < generation {
		out.Met, out.Reason = false, "StaleStatus"
		out.Message = fmt.Sprintf("%s is %s for generation %d, but the object is at generation %d", s.wantType, found.Status, observed, generation)
	}
	return out
}

// absence returns the message for a missing condition. The wait continues, because only the
// controller knows which conditions it will set.
func (s *conditionType) absence(status map[string]any) string {
	const most = 8
	var has []string
	for _, c := range object.ConditionsIn(status["conditions"]) {
		if c.Type != "" && !slices.Contains(has, c.Type) {
			has = append(has, c.Type)
		}
	}
	absent := "there is no condition " + s.wantType
	if intended := text.Nearest(s.wantType, has); intended != "" {
		return absent + "; did you mean " + intended + "?"
	}
	if len(has) == 0 {
		return absent
	}
	if more := len(has) - most; more > 0 {
		has = append(has[:most], fmt.Sprintf("%d more", more))
	}
	return absent + "; it has " + strings.Join(has, ", ")
}

// CompileError says that a condition does not compile.
type CompileError struct {
	Spec Spec
	// Line and Column are the position in Spec.Text, starting at 1. They are zero if the whole
	// condition is wrong.
	Line, Column int
	// Message is one line without the position.
	Message string
	// Suggestion is a suggestion, such as a similar name, or "".
	Suggestion string
	// Advice says what to write if Suggestion is empty. It may be empty too.
	Advice string
}

func (e *CompileError) Error() string {
	text := brief(e.Spec.Text)
	switch {
	case e.Line <= 0:
		return fmt.Sprintf("%q: %s", text, e.Message)
	case e.Line == 1:
		return fmt.Sprintf("%q, column %d: %s", text, e.Column, e.Message)
	default:
		return fmt.Sprintf("%q, line %d, column %d: %s", text, e.Line, e.Column, e.Message)
	}
}

func brief(text string) string {
	const most = 200
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// Hint returns the suggestion or the advice.
func (e *CompileError) Hint() string {
	if e.Suggestion == "" {
		return e.Advice
	}
	return "did you mean " + e.Suggestion + "?"
}
