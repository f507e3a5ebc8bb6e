// Package condition parses the conditions of a wait and evaluates them on one version of one
// object. Call [Parse], then [Compile] once for a kind, then Evaluate on each object. It reads no
// clock, sends nothing and does not wait.
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

// evaluator is one way to evaluate a condition.
type evaluator interface {
	evaluate(ctx context.Context, obj map[string]any, now time.Time) Verdict
	// reads returns what the condition reads from an object.
	reads() cel.Reads
}

// Compile compiles the specs for one kind. s is the kind's OpenAPI v3 schema with its references
// resolved; nil leaves everything untyped. The error joins a *CompileError for each spec that does
// not compile, and a *RuleError for each formula of the kind's rule.
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

// Spec returns the spec that was compiled.
func (c *Condition) Spec() Spec { return c.spec }

// EvaluateAt evaluates the condition on one version of one object; nil means that the object does
// not exist. now lets it judge how long something has lasted: a Pod that could not be scheduled for
// too long is Failed. With a zero time nothing fails for that.
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

// Kind is the kind of a condition.
type Kind string

// The kinds of conditions, as in --for.
const (
	// Ready judges the object as a whole: docs/readiness.md.
	Ready Kind = "ready"
	// CEL is an expression over self, the object.
	CEL Kind = "cel"
	// Status is condition=TYPE[=STATUS]: one of status.conditions.
	Status Kind = "condition"
	// JSONPath is jsonpath={…}[=VALUE], as in kubectl.
	JSONPath Kind = "jsonpath"
	// Create is met when the object exists.
	Create Kind = "create"
	// Delete is met when the object does not exist.
	Delete Kind = "delete"
)

// Spec is one --for or --fail-on.
type Spec struct {
	Kind Kind
	// Text is the condition as typed, for reports.
	Text string
	// Expression is the part of Text that is CEL or JSONPath.
	Expression string
	// Type is the type of the status condition.
	Type string
	// Value is the required value of the status condition or JSONPath; for JSONPath only if
	// HasValue.
	Value    string
	HasValue bool
	// Rules are the rules for Ready; nil means the shipped table alone.
	Rules *Set
	// Once: there is one look and no wait, so Ready takes a lasting fault at face value.
	Once bool
}

// specError says that a text is no condition.
type specError struct{ text, message, hint string }

func (e *specError) Error() string { return fmt.Sprintf("%q: %s", e.text, e.message) }

func (e *specError) Hint() string { return e.hint }

// NeedsSchema reports whether Compile uses the kind's schema. If not, it need not be read:
// readiness is built in for many kinds.
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

// inCEL evaluates an expression.
type inCEL struct{ expression *cel.Expression }

func compileCEL(l *cel.Language, one Spec) (*inCEL, error) {
	x, err := l.Compile(one.Expression)
	if err != nil {
		return nil, one.wrong(err)
	}
	return &inCEL{x}, nil
}

func (c *inCEL) evaluate(ctx context.Context, obj map[string]any, _ time.Time) Verdict {
	r := c.expression.Evaluate(ctx, obj)
	return Verdict{Met: r.Met, Reason: r.Reason, Message: r.Message, Values: r.Values, Err: r.Err}
}

func (c *inCEL) reads() cel.Reads { return c.expression.Read }

// wrong adds the place in the typed text to an error of the expression.
func (s Spec) wrong(err error) error {
	at, ok := errors.AsType[*cel.Error](err)
	if !ok {
		return err
	}
	out := &CompileError{Spec: s, Line: at.Line, Column: at.Column, Message: at.Message, Meant: at.Meant, Advice: at.Advice}
	if at.Line == 1 {
		out.Column += utf8.RuneCountInString(s.Text[:max(0, strings.Index(s.Text, s.Expression))])
	}
	return out
}

// conditionType evaluates condition=TYPE[=STATUS].
type conditionType struct {
	wantType, want string
}

// newStatus refuses kinds without status.conditions in their schema: such a wait would never end.
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

// evaluate compares as kubectl does, ignoring case. A condition of an earlier generation does not
// count (edge case 47).
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
	// The condition's own generation precedes the status's, as in kubectl.
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

// absence says that the object lacks the condition now, and suggests a similar one. It may still
// come: only the controller knows all its conditions.
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

// CompileError says where and why a condition is wrong.
type CompileError struct {
	// Spec is the condition as typed.
	Spec Spec
	// Line and Column are the place in Spec.Text, from 1; zero if the whole is wrong.
	Line, Column int
	// Message is one line without the place.
	Message string
	// Meant is a suggestion, such as the nearest name; may be empty.
	Meant string
	// Advice is what to write if there is no suggestion; may be empty.
	Advice string
}

// Error returns the condition, the place and the message.
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

// brief shortens a text that is too long to read.
func brief(text string) string {
	const most = 200
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// Hint returns the suggestion or the advice.
func (e *CompileError) Hint() string {
	if e.Meant == "" {
		return e.Advice
	}
	return "did you mean " + e.Meant + "?"
}
