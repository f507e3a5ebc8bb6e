// Package condition parses the conditions of a wait and evaluates them on one version of one
// object. Call [Parse], then [Compile] once for a kind, then Evaluate on each object. It reads no
// clock, asks no server and does not wait.
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

// Kind is a way to say what is waited for.
type Kind string

// The kinds of conditions, as --for names them.
const (
	// Ready is the verdict on the object as a whole: docs/readiness.md.
	Ready Kind = "ready"
	// CEL is an expression over self, the object.
	CEL Kind = "cel"
	// Status is condition=TYPE[=STATUS]: one of status.conditions.
	Status Kind = "condition"
	// JSONPath is jsonpath={…}[=VALUE], as kubectl means it.
	JSONPath Kind = "jsonpath"
	// Create is met when the object exists.
	Create Kind = "create"
	// Delete is met when the object does not exist.
	Delete Kind = "delete"
)

// Spec is one --for or --fail-on as it was typed.
type Spec struct {
	Kind Kind
	// Text is what was typed, as a report shows it.
	Text string
	// Expression is what of Text is CEL or JSONPath.
	Expression string
	// Type is the type of the status condition.
	Type string
	// Value is what the status condition, or what the JSONPath finds, has to be;
	// for JSONPath only if HasValue.
	Value    string
	HasValue bool
	// Rules are what is stated of kinds, for Ready; nil is the table of the program alone.
	Rules *Set
	// Once: there is one look and no wait, so Ready takes a lasting fault at face value.
	Once bool
}

// specError is a text that says no condition.
type specError struct{ text, message, hint string }

func (e *specError) Error() string { return fmt.Sprintf("%q: %s", e.text, e.message) }

func (e *specError) Hint() string { return e.hint }

// NeedsSchema reports whether Compile can make use of the schema of a kind: where not, it need not
// be read. Readiness is built in for many kinds.
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

// wrong says of an error in the expression where in the text that was typed it is.
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

// CompileError says where and why the text of a condition is wrong.
type CompileError struct {
	// Spec is the condition as typed.
	Spec Spec
	// Line and Column are the place in Spec.Text, both from 1; zero where the
	// whole is wrong.
	Line, Column int
	// Message is one line without the place.
	Message string
	// Meant is what was probably meant, such as the nearest name; may be empty.
	Meant string
	// Advice is what to write where no name is near; may be empty.
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

// Hint returns what was probably meant, or what to write.
func (e *CompileError) Hint() string {
	if e.Meant == "" {
		return e.Advice
	}
	return "did you mean " + e.Meant + "?"
}
