package condition

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// self is the variable that holds the object.
const self = "self"

// path is a place below a variable that an expression names outright:
// self.status.conditions[0]. A step is a string (a field or a key) or an int64.
type path struct {
	variable string
	steps    []any
}

// pathOf returns the path that an expression is; false if it is anything else.
func pathOf(e ast.Expr) (path, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return path{variable: e.AsIdent()}, true
	case ast.SelectKind:
		p, ok := pathOf(e.AsSelect().Operand())
		return p.below(e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
		default:
			return path{}, false
		}
		args := call.Args()
		if len(args) != 2 || args[1].Kind() != ast.LiteralKind {
			return path{}, false
		}
		p, ok := pathOf(args[0])
		switch step := args[1].AsLiteral().(type) {
		case types.String:
			return p.below(string(step)), ok
		case types.Int:
			return p.below(int64(step)), ok
		}
	}
	return path{}, false
}

func (p path) below(step any) path {
	return path{variable: p.variable, steps: append(p.steps[:len(p.steps):len(p.steps)], step)}
}

// fields returns the names that lead as far as names lead.
func (p path) fields() []string {
	var out []string
	for _, step := range p.steps {
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

// find returns what is at the path; null counts as nothing.
func (p path) find(value any) (any, bool) {
	for _, step := range p.steps {
		switch step := step.(type) {
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
func readsOf(e ast.Expr, variable string) tree {
	reads := tree{}
	var walk func(ast.Expr)
	walk = func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			c := e.AsComprehension()
			if c.IterVar() == variable || c.IterVar2() == variable || c.AccuVar() == variable {
				// A variable of the same name hides ours: no telling them apart here.
				reads = nil
				return
			}
		}
		if p, ok := pathOf(e); ok {
			if p.variable == variable {
				reads = reads.with(p.fields())
			}
			return
		}
		for _, child := range children(e) {
			walk(child)
		}
	}
	walk(e)
	return reads
}
