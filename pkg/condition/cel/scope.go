package cel

import (
	"maps"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// scope is the schema of each variable that an expression sees; nil where it is
// dynamic.
type scope map[string]*spec.Schema

// sight is an expression and what it sees.
type sight struct {
	expr  ast.Expr
	scope scope
}

// locate returns the expression with an id.
func locate(e ast.Expr, id int64, sc scope) sight {
	if e.ID() == id {
		return sight{e, sc}
	}
	inner := sc
	if e.Kind() == ast.ComprehensionKind {
		c := e.AsComprehension()
		inner = maps.Clone(sc)
		element, isMap := sc.elements(c.IterRange())
		inner[c.AccuVar()] = nil
		inner[c.IterVar()] = element
		if isMap || c.HasIterVar2() {
			inner[c.IterVar()] = nil
		}
		if c.HasIterVar2() {
			inner[c.IterVar2()] = element
		}
		if found := locate(c.IterRange(), id, sc); found.expr != nil {
			return found
		}
	}
	for _, child := range children(e) {
		if found := locate(child, id, inner); found.expr != nil {
			return found
		}
	}
	return sight{}
}

// schemaOf returns the schema of what an expression leads to; nil where that is
// not known.
func (sc scope) schemaOf(e ast.Expr) *spec.Schema {
	switch e.Kind() {
	case ast.IdentKind:
		return sc[e.AsIdent()]
	case ast.SelectKind:
		return Below(sc.schemaOf(e.AsSelect().Operand()), e.AsSelect().FieldName())
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() == operators.Index && len(call.Args()) == 2 {
			element, _ := sc.elements(call.Args()[0])
			return element
		}
	case ast.ComprehensionKind:
		if c := e.AsComprehension(); isFilter(c) {
			return sc.schemaOf(c.IterRange())
		}
	default: // Nothing is known of what an expression makes.
	}
	return nil
}

// isFilter reports whether the comprehension is what the macro filter becomes:
// CONDITION ? result + [element] : result.
func isFilter(c ast.ComprehensionExpr) bool {
	if step := c.LoopStep(); step.Kind() == ast.CallKind && step.AsCall().FunctionName() == operators.Conditional {
		sum := step.AsCall().Args()[1]
		if sum.Kind() != ast.CallKind || len(sum.AsCall().Args()) != 2 {
			return false
		}
		added := sum.AsCall().Args()[1]
		return added.Kind() == ast.ListKind && len(added.AsList().Elements()) == 1 && added.AsList().Elements()[0].AsIdent() == c.IterVar()
	}
	return false
}

// elements returns the schema of what a list or a map holds.
func (sc scope) elements(e ast.Expr) (element *spec.Schema, isMap bool) {
	s := sc.schemaOf(e)
	switch {
	case s == nil:
		return nil, false
	case s.Items != nil:
		return s.Items.Schema, false
	case s.AdditionalProperties != nil:
		return s.AdditionalProperties.Schema, true
	default:
		return nil, false
	}
}
