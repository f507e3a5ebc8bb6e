package condition

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// shown is how many names of a schema an error lists.
const shown = 12

// at returns an error at the place of the first of CEL's errors.
func at(s Spec, e *common.Error) *CompileError {
	out := &CompileError{Spec: s, Line: e.Location.Line(), Column: e.Location.Column() + 1, Message: oneLine(e.Message)}
	if out.Line < 1 {
		out.Line, out.Column = 0, 0
	}
	if out.Line == 1 {
		out.Column += s.offset
	}
	return out
}

// syntaxError is about what is no CEL at all.
func syntaxError(s Spec, issues []*common.Error) *CompileError {
	out := at(s, issues[0])
	// ANTLR lists every token that might have followed.
	out.Message, _, _ = strings.Cut(out.Message, " expecting {")
	if singleEquals(s.Expression) {
		out.Meant = "compare with ==, as in self.status.phase == 'Bound'"
	}
	return out
}

// typeError is about what is CEL, but not about this kind.
func (l *language) typeError(s Spec, parsed *ast.AST, issues []*common.Error) *CompileError {
	out := at(s, issues[0])
	found := locate(parsed.Expr(), issues[0].ExprID, scope{self: l.root})
	if found.expr == nil {
		return out
	}
	switch found.expr.Kind() {
	case ast.SelectKind:
		sel := found.expr.AsSelect()
		holder := found.scope.schemaOf(sel.Operand())
		if holder == nil || len(holder.Properties) == 0 {
			break
		}
		if _, known := holder.Properties[sel.FieldName()]; known {
			break
		}
		names := slices.Collect(maps.Keys(holder.Properties))
		text := textOf(sel.Operand(), parsed.SourceInfo())
		out.Message = fmt.Sprintf("%s of %s has no field %s", text, l.kind.Kind, sel.FieldName())
		out.Meant = meant(sel.FieldName(), names, text+".")
		// CEL points at the dot.
		out.Column++
	case ast.IdentKind:
		out.Message = fmt.Sprintf("there is no variable %s", found.expr.AsIdent())
		out.Meant = l.meantBy(s, found.expr.AsIdent())
	}
	return out
}

// meant proposes a name, or where none is near, lists some.
func meant(name string, names []string, prefix string) string {
	if near := nearest(name, names); near != "" {
		return "did you mean " + prefix + near + "?"
	}
	return "known there: " + list(name, names, shown)
}

// meantBy proposes what a bare word was to be: a word that --for knows, a field
// without its self, a condition type.
func (l *language) meantBy(s Spec, name string) string {
	words := []string{string(Ready), string(Create), string(Delete)}
	alone := strings.TrimSpace(s.Text) == name
	if near := nearest(name, words); near != "" && alone {
		return "did you mean " + near + "?"
	}
	if l.root != nil {
		if near := nearest(name, slices.Collect(maps.Keys(l.root.Properties))); near != "" {
			return "the object is self: did you mean self." + near + "?"
		}
	}
	if alone {
		return "did you mean condition=" + name + "?"
	}
	return "the object is self, as in self.status"
}

// notBoolean is about what has a value, but none that could be true.
func notBoolean(s Spec, t *cel.Type) *CompileError {
	hint := "compare it, as in EXPRESSION == VALUE"
	if t.TypeName() == "optional_type" {
		hint = "say what holds where it is absent: .orValue(false)"
	}
	return &CompileError{
		Spec:    s,
		Message: fmt.Sprintf("is a %s, not true or false", t),
		Meant:   hint,
	}
}

// singleEquals tells whether there is an = outside of quotes that is no part of
// an operator.
func singleEquals(text string) bool {
	var quote byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '=':
			if i+1 < len(text) && text[i+1] == '=' {
				i++
			} else if i == 0 || !strings.ContainsRune("!<>", rune(text[i-1])) {
				return true
			}
		}
	}
	return false
}

// scope is the schema of each variable that an expression sees; nil where it is
// dynamic.
type scope map[string]*spec.Schema

// place is an expression and what it sees.
type place struct {
	expr  ast.Expr
	scope scope
}

// locate returns the expression with an id.
func locate(e ast.Expr, id int64, sc scope) place {
	if e.ID() == id {
		return place{e, sc}
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
	return place{}
}

// schemaOf returns the schema of what an expression leads to; nil where that is
// not known.
func (sc scope) schemaOf(e ast.Expr) *spec.Schema {
	switch e.Kind() {
	case ast.IdentKind:
		return sc[e.AsIdent()]
	case ast.SelectKind:
		return below(sc.schemaOf(e.AsSelect().Operand()), e.AsSelect().FieldName())
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
	}
	return nil
}

// isFilter tells whether the comprehension is what the macro filter becomes:
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

// below returns the schema of a property.
func below(s *spec.Schema, name string) *spec.Schema {
	if s == nil {
		return nil
	}
	if property, found := s.Properties[name]; found {
		return &property
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Schema
	}
	return nil
}

// oneLine keeps what others say on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
