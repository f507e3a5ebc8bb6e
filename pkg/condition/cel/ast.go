package cel

import (
	"strings"

	"github.com/google/cel-go/common/types"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// placeOf returns the place that an expression is; false if it is anything else.
func placeOf(e ast.Expr) (Place, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return Place{Variable: e.AsIdent()}, true
	case ast.SelectKind:
		p, ok := placeOf(e.AsSelect().Operand())
		return p.Below(e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.Index, operators.OptIndex, operators.OptSelect:
		default:
			return Place{}, false
		}
		args := call.Args()
		if len(args) != 2 || args[1].Kind() != ast.LiteralKind {
			return Place{}, false
		}
		p, ok := placeOf(args[0])
		switch step := args[1].AsLiteral().(type) {
		case types.String:
			if call.FunctionName() == operators.OptSelect {
				return p.Below(string(step)), ok
			}
			return p.Below(Key(step)), ok
		case types.Int:
			return p.Below(int64(step)), ok
		}
	default: // Anything else makes something new.
	}
	return Place{}, false
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
func readsOf(e ast.Expr, variable string) Reads {
	var out Reads
	var walk func(ast.Expr)
	walk = func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			c := e.AsComprehension()
			if c.IterVar() == variable || c.IterVar2() == variable || c.AccuVar() == variable {
				// A variable of the same name hides ours: no telling them apart here.
				out.All = true
				return
			}
		}
		if p, ok := placeOf(e); ok {
			if p.Variable == variable {
				names := p.Names()
				out.All = out.All || len(names) == 0
				out.Paths = append(out.Paths, names)
			}
			return
		}
		for _, child := range children(e) {
			walk(child)
		}
	}
	walk(e)
	if out.All {
		return Reads{All: true}
	}
	return out
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
