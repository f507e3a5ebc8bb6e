package cel

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type explanation struct {
	text  string
	nodes map[int64]ast.Expr
	// parts are the operands of the outermost &&, or the whole expression.
	parts   []part
	derives bool
}

type part struct {
	id    int64
	text  string
	shown []shown
}

// shown describes a value in a report: a place in the object, or an operand of a comparison.
type shown struct {
	text string
	// at holds the place of the value in the object. If the place has no steps, the value is the
	// result of the subexpression with this id.
	at Place
	id int64
	// brief is set if a result derived from the value is shown. The value is then omitted if it is
	// a list or a map.
	brief bool
	// fields lists those fields of a list's items that the expression reads.
	fields Reads
}

func explain(checked *ast.AST) explanation {
	info := checked.SourceInfo()
	out := explanation{text: written(checked.Expr(), info), nodes: map[int64]ast.Expr{}}
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) { out.nodes[e.ID()] = e }))
	for _, e := range conjuncts(checked.Expr()) {
		c := collector{info: info}
		c.collect(e, false)
		out.parts = append(out.parts, part{e.ID(), written(e, info), c.shown})
		out.derives = out.derives || slices.ContainsFunc(c.shown, func(s shown) bool { return len(s.at.Steps) == 0 })
	}
	return out
}

func conjuncts(e ast.Expr) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.LogicalAnd {
		return []ast.Expr{e}
	}
	var out []ast.Expr
	for _, arg := range e.AsCall().Args() {
		out = append(out, conjuncts(arg)...)
	}
	return out
}

type collector struct {
	info  *ast.SourceInfo
	shown []shown
}

func (c *collector) add(s shown) {
	i := slices.IndexFunc(c.shown, func(other shown) bool { return other.text == s.text })
	if i < 0 {
		c.shown = append(c.shown, s)
		return
	}
	known := &c.shown[i]
	known.brief = known.brief && s.brief
	known.fields = Reads{All: known.fields.All || s.fields.All, Paths: slices.Concat(known.fields.Paths, s.fields.Paths)}
}

// collectPlace adds e if it is a place in the object. It returns true for a place in any variable.
func (c *collector) collectPlace(e ast.Expr, brief bool, fields Reads) (ok bool) {
	p, ok := placeOf(e)
	if ok && p.Variable == Self && len(p.Steps) > 0 {
		c.add(shown{text: p.String(), at: p, id: e.ID(), brief: brief, fields: fields})
	}
	return ok
}

func (c *collector) collect(e ast.Expr, brief bool) {
	if c.collectPlace(e, brief, Reads{All: true}) {
		return
	}
	switch e.Kind() {
	case ast.ComprehensionKind:
		c.comprehension(e.AsComprehension(), brief)
	case ast.CallKind:
		compares := isComparison(e.AsCall().FunctionName())
		for _, child := range children(e) {
			c.collect(child, compares && c.operand(child) || brief)
		}
	default:
		for _, child := range children(e) {
			c.collect(child, brief)
		}
	}
}

// operand adds an operand that is derived from the object, such as size(self.items).
func (c *collector) operand(e ast.Expr) bool {
	if e.Kind() != ast.CallKind && e.Kind() != ast.ComprehensionKind {
		return false
	}
	_, isPlace := placeOf(e)
	r := readsOf(e, Self)
	if isPlace || !r.All && len(r.Paths) == 0 {
		return false
	}
	c.add(shown{text: written(e, c.info), id: e.ID()})
	return true
}

// A comprehension is a macro that iterates over a list. Only the item fields that it reads are
// shown.
func (c *collector) comprehension(e ast.ComprehensionExpr, brief bool) {
	element := e.IterVar()
	if e.HasIterVar2() {
		element = e.IterVar2()
	}
	body := []ast.Expr{e.AccuInit(), e.LoopCondition(), e.LoopStep(), e.Result()}
	var fields Reads
	for _, b := range body {
		r := readsOf(b, element)
		fields = Reads{All: fields.All || r.All, Paths: slices.Concat(fields.Paths, r.Paths)}
	}
	if !c.collectPlace(e.IterRange(), brief, fields) {
		c.collect(e.IterRange(), brief)
	}
	for _, b := range body {
		c.places(b)
	}
}

// places collects only places, because other values differ in each iteration of a loop.
func (c *collector) places(e ast.Expr) {
	if c.collectPlace(e, true, Reads{All: true}) {
		return
	}
	for _, child := range children(e) {
		c.places(child)
	}
}

func isComparison(function string) bool {
	return slices.Contains([]string{
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals,
		operators.Greater, operators.GreaterEquals, operators.In, operators.OldIn,
	}, function)
}

func (s shown) reduced(value any) any {
	items, ok := value.([]any)
	if !ok || s.fields.All || len(s.fields.Paths) == 0 {
		return value
	}
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = s.fields.Of(item)
	}
	return out
}

func plain(v ref.Val) (value any, absent bool) {
	if optional, ok := v.(*types.Optional); ok {
		if !optional.HasValue() {
			return nil, true
		}
		v = optional.GetValue()
	}
	if v == types.NullValue {
		return nil, true
	}
	return jsonOf(v.Value()), false
}

// jsonOf converts a value for output. cel-go mixes its own types with those of Go, on all levels.
func jsonOf(v any) any {
	switch v := v.(type) {
	case nil, structpb.NullValue:
		return nil
	case bool, string, int64, float64, uint64:
		return v
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case deferred:
		return jsonOf(v.value)
	case ref.Val:
		value, _ := plain(v)
		return value
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, below := range v {
			out[name] = jsonOf(below)
		}
		return out
	case map[ref.Val]ref.Val:
		out := make(map[string]any, len(v))
		for key, below := range v {
			out[fmt.Sprint(key.Value())] = jsonOf(below)
		}
		return out
	case []any:
		return listOf(v)
	case []deferred:
		return listOf(v)
	case []ref.Val:
		return listOf(v)
	case []string:
		return listOf(v)
	default:
		return fmt.Sprint(v)
	}
}

func listOf[T any](items []T) []any {
	out := make([]any, len(items))
	for i := range items {
		out[i] = jsonOf(items[i])
	}
	return out
}

// Message is an expression that returns a sentence about an object.
type Message struct {
	program cel.Program
	Read    Reads
}

// CompileMessage returns an *Error for a wrong expression.
func (l *Language) CompileMessage(typed string) (*Message, error) {
	env, _, err := l.environment(Reads{})
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(typed)
	if issues.Err() != nil {
		return nil, syntaxError(typed, issues)
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, typeError(typed, l.GVK.Kind, l.Schema, parsed.NativeRep(), issues)
	}
	if t := checked.OutputType(); !t.IsEquivalentType(cel.StringType) && !t.IsEquivalentType(cel.DynType) {
		return nil, &Error{Message: "it is " + article(t.String()) + ", but a message must be a string"}
	}
	program, err := env.Program(checked, limits(env)...)
	if err != nil {
		return nil, err
	}
	return &Message{program, readsOf(parsed.NativeRep().Expr(), Self)}, nil
}

// Say returns one line; "" if the expression fails.
func (m *Message) Say(ctx context.Context, obj map[string]any) string {
	ctx, done := context.WithTimeout(ctx, longest)
	defer done()
	made, _, err := m.program.ContextEval(ctx, map[string]any{Self: (*shape)(nil).value(obj)})
	if err != nil {
		return ""
	}
	message, _ := made.(types.String)
	return text.OneLine(string(message))
}
