package condition

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// self is the variable that holds the object.
const self = "self"

// place is where below a variable an expression looks, where it says so outright:
// self.status.conditions[0]. A step is a string (a field), a key or an int64.
type place struct {
	variable string
	steps    []any
}

// key is a step that is written in brackets.
type key string

// placeOf returns the place that an expression is; false if it is anything else.
func placeOf(e ast.Expr) (place, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return place{variable: e.AsIdent()}, true
	case ast.SelectKind:
		p, ok := placeOf(e.AsSelect().Operand())
		return p.below(e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
		default:
			return place{}, false
		}
		args := call.Args()
		if len(args) != 2 || args[1].Kind() != ast.LiteralKind {
			return place{}, false
		}
		p, ok := placeOf(args[0])
		switch step := args[1].AsLiteral().(type) {
		case types.String:
			if call.FunctionName() == operators.OptSelect {
				return p.below(string(step)), ok
			}
			return p.below(key(step)), ok
		case types.Int:
			return p.below(int64(step)), ok
		}
	default: // Anything else makes something new.
	}
	return place{}, false
}

func (p place) below(step any) place {
	return place{variable: p.variable, steps: append(slices.Clip(p.steps), step)}
}

// names returns the names that lead as far as names lead.
func (p place) names() []string {
	var out []string
	for _, step := range p.steps {
		if k, ok := step.(key); ok {
			out = append(out, string(k))
			continue
		}
		name, ok := step.(string)
		if !ok {
			break
		}
		out = append(out, name)
		// In an object the name may be written escaped, and which it is, the
		// object tells: from here on everything is read.
		if unescaped, ok := apiservercel.Unescape(name); ok && unescaped != name {
			return out[:len(out)-1]
		}
	}
	return out
}

// find returns what is at the place; null counts as nothing.
func (p place) find(value any) (any, bool) {
	for _, step := range p.steps {
		switch step := step.(type) {
		case key:
			m, _ := value.(map[string]any)
			value = m[string(step)]
		case string:
			m, ok := value.(map[string]any)
			if !ok {
				return nil, false
			}
			if value, ok = m[step]; !ok {
				unescaped, _ := apiservercel.Unescape(step)
				value = m[unescaped]
			}
		case int64:
			l, ok := value.([]any)
			if !ok || step < 0 || step >= int64(len(l)) {
				return nil, false
			}
			value = l[step]
		}
	}
	return value, value != nil
}

// missing returns how far one gets on the way to the place: to the first thing that
// is not there.
func (p place) missing(value any) place {
	for i := range p.steps {
		outer := place{variable: p.variable, steps: p.steps[:i+1]}
		if _, there := outer.find(value); !there {
			return outer
		}
	}
	return p
}

// children returns the expressions that an expression is made of, in the order in
// which they stand; of a comprehension the range first.
func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			return append([]ast.Expr{call.Target()}, call.Args()...)
		}
		return call.Args()
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var out []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			out = append(out, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return out
	case ast.StructKind:
		var out []ast.Expr
		for _, field := range e.AsStruct().Fields() {
			out = append(out, field.AsStructField().Value())
		}
		return out
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()}
	default:
		return nil
	}
}

// readsOf returns what an expression reads of a variable.
func readsOf(e ast.Expr, variable string) reads {
	var out reads
	var walk func(ast.Expr)
	walk = func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			c := e.AsComprehension()
			if c.IterVar() == variable || c.IterVar2() == variable || c.AccuVar() == variable {
				// A variable of the same name hides ours: no telling them apart here.
				out.all = true
				return
			}
		}
		if p, ok := placeOf(e); ok {
			if p.variable == variable {
				names := p.names()
				out.all = out.all || len(names) == 0
				out.paths = append(out.paths, names)
			}
			return
		}
		for _, child := range children(e) {
			walk(child)
		}
	}
	walk(e)
	if out.all {
		return reads{all: true}
	}
	return out
}

// String returns the place as an expression.
func (p place) String() string {
	var b strings.Builder
	b.WriteString(p.variable)
	for _, step := range p.steps {
		switch step := step.(type) {
		case key:
			b.WriteString("[" + strconv.Quote(string(step)) + "]")
		case string:
			b.WriteString("." + step)
		case int64:
			b.WriteString("[" + strconv.FormatInt(step, 10) + "]")
		}
	}
	return b.String()
}

// written returns a part of an expression as it is written.
func written(e ast.Expr, info *ast.SourceInfo) string {
	s, err := cel.ExprToString(e, info)
	if err != nil {
		return "it"
	}
	// It is wrapped at operators, never inside of a text.
	return strings.ReplaceAll(s, "\n", " ")
}
