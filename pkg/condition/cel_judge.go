package condition

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
)

// expression is a CEL expression, ready to be judged.
type expression struct {
	program cel.Program
	shape   *shape
	tree    tree
	// secret tells that values of the kind must not be shown.
	secret bool
	nodes  map[int64]ast.Expr
	// parts are the operands of the outermost &&; the whole where there is none.
	parts []part
	reads []read
}

// part is one of the things that all have to be true.
type part struct {
	id   int64
	text string
}

func (x *expression) readTree() tree { return x.tree }

func (x *expression) judge(ctx context.Context, obj map[string]any, _ time.Time) Verdict {
	if obj == nil {
		return notFound()
	}
	result, details, err := x.program.ContextEval(ctx, map[string]any{self: x.shape.value(obj)})
	state := details.State()
	if state == nil {
		state = interpreter.NewEvalState()
	}
	v := Verdict{Values: x.values(obj, state)}
	switch {
	case err == nil && result == types.True:
		v.Met = true
	case err == nil && result == types.False:
		v.Reason = ReasonFalse
		v.Unmet = x.unmet(state)
		v.Message = strings.Join(v.Unmet, " is false; ") + " is false"
	case err == nil:
		v.Err = fmt.Errorf("the result is a %s, not true or false", result.Type().TypeName())
	case ctx.Err() != nil:
		v.Err = context.Cause(ctx)
	case x.isAbsence(err, state):
		v.Reason = ReasonAbsent
		v.Unmet = x.unmet(state)
		v.Message = absence(v)
	case x.secret:
		// What CEL says may quote, in any encoding, what the expression made of a
		// value.
		v.Err = errors.New("the expression can not be evaluated on this Secret; why is not told, to quote none of its values")
	default:
		v.Err = fmt.Errorf("evaluate: %w", err)
	}
	return v
}

// unmet returns the parts that were found not to be true. What comes after them
// may never have been looked at.
func (x *expression) unmet(state interpreter.EvalState) []string {
	var out []string
	for _, p := range x.parts {
		if value, found := state.Value(p.id); found && value != types.True {
			out = append(out, p.text)
		}
	}
	if len(out) == 0 {
		out = append(out, x.parts[0].text)
	}
	return out
}

// absence says what is not there.
func absence(v Verdict) string {
	var out []string
	for _, value := range v.Values {
		if value.Absent {
			out = append(out, value.Expr)
		}
	}
	if len(out) == 0 {
		return strings.Join(v.Unmet, " and ") + " reads what is absent"
	}
	return strings.Join(out, ", ") + " is absent"
}

// isAbsence tells whether evaluation ended at a path that is not there: an error
// of a selection or an index, and of the kind that says "nothing there", not
// "something else there".
func (x *expression) isAbsence(err error, state interpreter.EvalState) bool {
	var celErr *types.Err
	if !errors.As(err, &celErr) {
		return false
	}
	node, found := x.nodes[celErr.NodeID()]
	if !found {
		return false
	}
	switch node.Kind() {
	case ast.SelectKind:
		return isResolution(celErr)
	case ast.CallKind:
		call := node.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
			return isResolution(celErr)
		case "value":
			if !call.IsMemberFunction() {
				return false
			}
			value, _ := state.Value(call.Target().ID())
			optional, ok := value.(*types.Optional)
			return ok && !optional.HasValue()
		}
	}
	return false
}

// isResolution tells cel-go's error for a missing key, field or index from all
// others. Its type has no name outside of cel-go, but it alone among those below
// a types.Err compares itself.
func isResolution(e *types.Err) bool {
	_, ok := e.Unwrap().(interface{ Is(error) bool })
	return ok
}
