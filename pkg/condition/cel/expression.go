package cel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

const (
	// maxCost is ten times the API server's limit for a CRD's rules (apiserver/pkg/apis/cel,
	// PerCallLimit), because a slow expression delays only the user.
	maxCost = 10_000_000
	// interruptEach is the number of loop iterations between checks of the context. Nested loops
	// can have a low cost and still run forever, so there is also a time limit (longest).
	interruptEach = 100
	longest       = 2 * time.Second
)

// Result is the result of an expression on one object.
type Result struct {
	Met bool
	// Reason is one stable word; Message is one sentence.
	Reason, Message string
	// Values are in the order of the expression. Values of Secrets are masked.
	Values []readiness.Value
	// Err says why the expression could not be evaluated. It is then unknown whether the condition
	// is met.
	Err error
}

// Expression is a condition compiled for a kind.
type Expression struct {
	gvk   schema.GroupVersionKind
	shape *shape
	Read  Reads
	// If the result must be explained, tracking evaluates the expression again and keeps
	// intermediate values.
	program, tracking cel.Program
	longest           time.Duration
	explanation
}

// Evaluate evaluates the expression on an object.
func (x *Expression) Evaluate(ctx context.Context, obj map[string]any) Result {
	ctx, done := context.WithTimeoutCause(ctx, x.longest, fmt.Errorf("the expression took longer than %s", x.longest))
	defer done()
	input := map[string]any{Self: x.shape.value(obj)}
	made, _, err := x.program.ContextEval(ctx, input)
	celErr, ended := errors.AsType[*types.Err](err)
	ended = ended || err == nil
	state := interpreter.NewEvalState()
	if ended && (made != types.True || x.derives) {
		_, details, _ := x.tracking.ContextEval(ctx, input)
		if seen := details.State(); seen != nil {
			state = seen
		}
	}
	switch {
	case err == nil && made == types.True:
		return Result{Met: true, Reason: "True", Values: x.values(obj, state, x.parts)}
	case err == nil && made == types.False:
		return x.isFalse(obj, state)
	case err == nil:
		err = fmt.Errorf("it is %s, which is neither true nor false", article(made.Type().TypeName()))
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case isTooCostly(err):
		err = errors.New("the expression is too expensive")
	case celErr != nil && x.isAbsence(celErr, state):
		return x.isAbsent(obj, state, celErr.NodeID())
	case IsSecret(x.gvk):
		// CEL's error may quote a value derived from the Secret.
		err = errors.New("cannot evaluate the expression on this Secret (details withheld: they would reveal its values)")
	case celErr != nil && errors.Is(celErr, noOverload()):
		err = x.mismatch(celErr, state)
	}
	return Result{Reason: "NotJudged", Message: text.OneLine(err.Error()), Err: err, Values: x.values(obj, state, x.parts)}
}

func isTooCostly(err error) bool {
	cancelled, ok := errors.AsType[interpreter.EvalCancelledError](err)
	return ok && cancelled.Cause == interpreter.CostLimitExceeded
}

// noOverload returns cel-go's error for operands whose types do not match, for use with
// [errors.Is].
func noOverload() error {
	err, _ := types.NoSuchOverloadErr().(*types.Err)
	return errors.Unwrap(err)
}

func (x *Expression) mismatch(celErr *types.Err, state interpreter.EvalState) error {
	node, found := x.nodes[celErr.NodeID()]
	if !found || node.Kind() != ast.CallKind {
		return celErr
	}
	call := node.AsCall()
	operands := call.Args()
	if call.IsMemberFunction() {
		operands = append([]ast.Expr{call.Target()}, operands...)
	}
	var message []string
	for _, operand := range operands {
		value, seen := state.Value(operand.ID())
		if operand.Kind() == ast.LiteralKind {
			value, seen = operand.AsLiteral(), true
		}
		if !seen {
			continue
		}
		one := article(value.Type().TypeName())
		if p, ok := placeOf(operand); ok {
			one = p.String() + " is " + one
		}
		message = append(message, one)
	}
	if len(message) == 0 {
		return celErr
	}
	return errors.New("these types do not match: " + strings.Join(message, ", "))
}

// CEL might not have evaluated the operands after the first false one.
func (x *Expression) isFalse(obj map[string]any, state interpreter.EvalState) Result {
	var untrue []part
	var texts []string
	for _, p := range x.parts {
		if v, seen := state.Value(p.id); seen && v != types.True || len(x.parts) == 1 {
			untrue, texts = append(untrue, p), append(texts, p.text)
		}
	}
	return Result{Reason: "False", Message: "false: " + strings.Join(texts, ", "), Values: x.values(obj, state, untrue)}
}

// The message names the first part of the path that is missing. If the object has no status, the
// message for self.status.a names self.status.
func (x *Expression) isAbsent(obj map[string]any, state interpreter.EvalState, at int64) Result {
	out := Result{Reason: "Absent", Values: x.values(obj, state, x.parts)}
	out.Message = "it reads an absent field: " + x.text // in a list's item
	node := x.nodes[at]
	if node.Kind() == ast.CallKind && node.AsCall().IsMemberFunction() { // self.?a.value()
		node = node.AsCall().Target()
	}
	if p, ok := placeOf(node); ok && p.Variable == Self {
		out.Message = "there is no " + p.Missing(obj).String()
	}
	return out
}

func (x *Expression) isAbsence(err *types.Err, state interpreter.EvalState) bool {
	node, found := x.nodes[err.NodeID()]
	if !found {
		return false
	}
	switch node.Kind() {
	case ast.SelectKind:
		return isResolution(err)
	case ast.CallKind:
		call := node.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			return isResolution(err)
		case "value": // self.?a.value()
			if call.IsMemberFunction() {
				v, _ := state.Value(call.Target().ID())
				optional, ok := v.(*types.Optional)
				return ok && !optional.HasValue()
			}
		}
	default:
	}
	return false
}

// isResolution recognizes cel-go's error for a missing key, field or index. The type of this error
// is not exported. But of all errors that a types.Err wraps, only this one has an Is method.
func isResolution(e *types.Err) bool {
	_, ok := e.Unwrap().(interface{ Is(error) bool })
	return ok
}

// values returns the values that decided the result, each once. Values read from a Secret are masked; a value
// computed from one cannot be recognized, so all of them are.
func (x *Expression) values(obj map[string]any, state interpreter.EvalState, parts []part) []readiness.Value {
	secret, visible := IsSecret(x.gvk), any(obj)
	if secret {
		visible = Masked(obj)
	}
	var out []readiness.Value
	known := map[string]bool{}
	for _, p := range parts {
		for _, s := range p.shown {
			v := readiness.Value{Expr: s.text}
			if len(s.at.Steps) > 0 {
				found, there := s.at.Find(visible)
				v.Value, v.Absent = s.reduced(found), !there
			} else if made, seen := state.Value(s.id); seen && !types.IsUnknownOrError(made) && weight(made, 0) <= maxSize {
				v.Value, v.Absent = plain(made)
				if secret && !v.Absent {
					v.Value = redact.Mask
				}
			} else {
				continue
			}
			if known[v.Expr] || s.brief && IsComposite(v.Value) {
				continue
			}
			known[v.Expr] = true
			out = append(out, v)
		}
	}
	return out
}

// IsComposite reports whether a value is a map or a list.
func IsComposite(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}

// IsSecret reports whether the values of a kind must never be shown.
func IsSecret(gvk schema.GroupVersionKind) bool { return redact.IsSecret(object.Ref{GVK: gvk}) }

// Masked returns a copy of a Secret with its values masked.
func Masked(obj map[string]any) map[string]any {
	secret := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}}
	out, _ := redact.Pair(secret, obj, nil)
	return out
}
