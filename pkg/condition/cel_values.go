package condition

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// read is a part of an expression of which a person wants to see the value: a
// path, or what is compared.
type read struct {
	text string
	// path is where in the object the value is; without steps, it is what
	// evaluation made of the part with this id.
	path path
	id   int64
	// brief leaves out lists and maps: what was made of them is shown as well.
	brief bool
	// fields are what is read of the items of a list; nil for all.
	fields tree
}

// explain finds the parts of the expression that a report shows.
func (x *expression) explain(checked *ast.AST) {
	x.nodes = map[int64]ast.Expr{}
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) { x.nodes[e.ID()] = e }))
	var conjuncts func(ast.Expr)
	conjuncts = func(e ast.Expr) {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.LogicalAnd {
			for _, arg := range e.AsCall().Args() {
				conjuncts(arg)
			}
			return
		}
		x.parts = append(x.parts, part{e.ID(), textOf(e, checked.SourceInfo())})
	}
	conjuncts(checked.Expr())
	c := collector{info: checked.SourceInfo()}
	c.collect(checked.Expr(), false)
	x.reads = c.reads
}

// collector goes through an expression in order of appearance.
type collector struct {
	info  *ast.SourceInfo
	reads []read
}

func (c *collector) add(r read) {
	i := slices.IndexFunc(c.reads, func(other read) bool { return other.text == r.text })
	if i < 0 {
		c.reads = append(c.reads, r)
		return
	}
	c.reads[i].brief = c.reads[i].brief && r.brief
	c.reads[i].fields = union(c.reads[i].fields, r.fields)
}

// collect adds what e reads; brief as in read.
func (c *collector) collect(e ast.Expr, brief bool) {
	if p, ok := pathOf(e); ok {
		if p.variable == self && len(p.steps) > 0 {
			c.add(read{text: p.String(), path: p, id: e.ID(), brief: brief})
		}
		return
	}
	switch e.Kind() {
	case ast.ComprehensionKind:
		c.comprehension(e.AsComprehension(), brief)
	case ast.CallKind:
		compares := comparison(e.AsCall().FunctionName())
		for _, child := range children(e) {
			if compares && c.operand(child) {
				c.collect(child, true)
				continue
			}
			c.collect(child, brief)
		}
	default:
		for _, child := range children(e) {
			c.collect(child, brief)
		}
	}
}

// operand adds what is compared, if it is made of the object: size(self.items).
func (c *collector) operand(e ast.Expr) bool {
	if e.Kind() != ast.CallKind && e.Kind() != ast.ComprehensionKind {
		return false
	}
	_, isPath := pathOf(e)
	reads := readsOf(e, self)
	if isPath || (reads != nil && len(reads) == 0) {
		return false
	}
	text := textOf(e, c.info)
	if text == "" {
		return false
	}
	c.add(read{text: text, id: e.ID()})
	return true
}

// comprehension adds what it goes through, cut down to what it looks at, and what
// its body reads of the object itself.
func (c *collector) comprehension(e ast.ComprehensionExpr, brief bool) {
	element := e.IterVar()
	if e.HasIterVar2() {
		element = e.IterVar2()
	}
	body := []ast.Expr{e.AccuInit(), e.LoopCondition(), e.LoopStep(), e.Result()}
	if p, ok := pathOf(e.IterRange()); ok && p.variable == self && len(p.steps) > 0 {
		fields := tree{}
		for _, b := range body {
			fields = union(fields, readsOf(b, element))
		}
		if len(fields) == 0 {
			fields = nil
		}
		c.add(read{text: p.String(), path: p, id: e.IterRange().ID(), brief: brief, fields: fields})
	} else {
		c.collect(e.IterRange(), brief)
	}
	for _, b := range body {
		c.paths(b)
	}
}

// paths adds the paths of the object only: what else a loop computes has a value
// for each turn.
func (c *collector) paths(e ast.Expr) {
	if p, ok := pathOf(e); ok {
		if p.variable == self && len(p.steps) > 0 {
			c.add(read{text: p.String(), path: p, id: e.ID(), brief: true})
		}
		return
	}
	for _, child := range children(e) {
		c.paths(child)
	}
}

func comparison(function string) bool {
	switch function {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals,
		operators.Greater, operators.GreaterEquals, operators.In, operators.OldIn:
		return true
	default:
		return false
	}
}

// values returns what the expression read of an object.
func (x *expression) values(obj map[string]any, state interpreter.EvalState) []Value {
	shown := any(obj)
	if x.secret {
		shown = masked(obj)
	}
	out := make([]Value, 0, len(x.reads))
	for _, r := range x.reads {
		value := Value{Expr: r.text}
		if len(r.path.steps) > 0 {
			found, ok := r.path.find(shown)
			value.Value, value.Absent = r.cut(found), !ok
		} else if made, ok := state.Value(r.id); ok && !types.IsUnknownOrError(made) {
			value.Value, value.Absent = plain(made)
			if x.secret && !value.Absent {
				value.Value = redact.Mask
			}
		} else {
			continue
		}
		if r.brief && composite(value.Value) {
			continue
		}
		out = append(out, value)
	}
	return out
}

func composite(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}

// cut leaves of the items of a list what the expression looks at.
func (r read) cut(value any) any {
	items, ok := value.([]any)
	if !ok || r.fields == nil {
		return value
	}
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = r.fields.cut(item)
	}
	return out
}

// String returns the path as an expression.
func (p path) String() string {
	var b strings.Builder
	b.WriteString(p.variable)
	for _, step := range p.steps {
		switch step := step.(type) {
		case string:
			if isIdentifier(step) {
				b.WriteString("." + step)
			} else {
				b.WriteString("[" + strconv.Quote(step) + "]")
			}
		case int64:
			b.WriteString("[" + strconv.FormatInt(step, 10) + "]")
		}
	}
	return b.String()
}

func isIdentifier(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// plain returns a value of CEL as one of JSON.
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
