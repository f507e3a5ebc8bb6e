package cel

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// placeOf returns the place that an expression reads, such as self.status.phase. An expression that computes
// a key has no place that is known without an evaluation.
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
	default:
	}
	return Place{}, false
}

// children returns the subexpressions in the order of the source. The range of a comprehension
// comes first.
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

func readsOf(e ast.Expr, variable string) Reads {
	var out Reads
	var walk func(ast.Expr)
	walk = func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			c := e.AsComprehension()
			if c.IterVar() == variable || c.IterVar2() == variable || c.AccuVar() == variable {
				// A loop variable of the same name shadows the variable.
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

func written(e ast.Expr, info *ast.SourceInfo) string {
	s, err := cel.ExprToString(e, info)
	if err != nil {
		return "it"
	}
	// ExprToString breaks lines only at operators, never inside a string.
	return strings.ReplaceAll(s, "\n", " ")
}

// Reads lists the parts of an object that a condition reads, in addition to those that identify the
// object's version.
type Reads struct {
	All bool
	// Paths are field names from the root. A path includes everything below it.
	Paths [][]string
	// SpecTimes is set if the condition needs the time when the spec was last written, which is in
	// the managed fields.
	SpecTimes bool
}

// Below returns the parts that r reads below a field. found is false if r reads nothing there.
func (r Reads) Below(name string) (inner Reads, found bool) {
	if r.All {
		return r, true
	}
	for _, path := range r.Paths {
		if path[0] == name {
			found = true
			inner.All = inner.All || len(path) == 1
			inner.Paths = append(inner.Paths, path[1:])
		}
	}
	if inner.All {
		return Reads{All: true}, true
	}
	return inner, found
}

// Of returns the parts of a value that r reads. It does not copy parts that are read in full. It
// keeps a map even if the fields that r reads in the map are missing.
func (r Reads) Of(v any) any {
	m, ok := v.(map[string]any)
	if r.All || !ok {
		return v
	}
	out := map[string]any{}
	for _, path := range outermost(r.Paths) {
		keep(out, m, path)
	}
	return out
}

// And returns the union of r and other.
func (r Reads) And(other Reads) Reads {
	return Reads{All: r.All || other.All, Paths: append(slices.Clip(r.Paths), other.Paths...), SpecTimes: r.SpecTimes || other.SpecTimes}
}

func outermost(paths [][]string) [][]string {
	var out [][]string
	for _, p := range paths {
		covered := slices.ContainsFunc(paths, func(q []string) bool { return len(q) < len(p) && slices.Equal(q, p[:len(q)]) })
		known := slices.ContainsFunc(out, func(q []string) bool { return slices.Equal(q, p) })
		if !covered && !known {
			out = append(out, p)
		}
	}
	return out
}

// keep copies as much of the path as exists. If keep is called for several paths, none may be below
// another.
func keep(out, obj map[string]any, path []string) {
	v, ok := obj[path[0]]
	if !ok {
		return
	}
	below, isMap := v.(map[string]any)
	if len(path) == 1 || !isMap {
		out[path[0]] = v
		return
	}
	inner, ok := out[path[0]].(map[string]any)
	if !ok {
		inner = map[string]any{}
		out[path[0]] = inner
	}
	keep(inner, below, path[1:])
}

// Meta returns the metadata of an object.
func Meta(obj map[string]any) map[string]any {
	m, _ := obj["metadata"].(map[string]any)
	return m
}
