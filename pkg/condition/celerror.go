package condition

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// wrong returns an error at a place in the expression, both from 1.
func (s Spec) wrong(line, column int, message string) *CompileError {
	if line == 1 {
		column += utf8.RuneCountInString(s.Text[:max(0, strings.Index(s.Text, s.Expression))])
	}
	return &CompileError{Spec: s, Line: line, Column: column, Message: text.OneLine(message)}
}

// first returns the first of what is wrong; the others mostly follow from it.
func first(one Spec, issues *cel.Issues) (*CompileError, *common.Error) {
	all := issues.Errors()
	if len(all) == 0 {
		return &CompileError{Spec: one, Message: text.OneLine(issues.Err().Error())}, &common.Error{}
	}
	l := all[0].Location
	if l.Line() < 1 {
		return &CompileError{Spec: one, Message: text.OneLine(all[0].Message)}, all[0]
	}
	return one.wrong(l.Line(), l.Column()+1, all[0].Message), all[0]
}

// syntaxError is about what is no CEL at all.
func syntaxError(one Spec, issues *cel.Issues) *CompileError {
	out, _ := first(one, issues)
	// ANTLR lists every token that might have followed.
	out.Message, _, _ = strings.Cut(out.Message, " expecting {")
	if singleEquals(one.Expression) {
		out.Advice = "compare with ==, as in self.status.phase == 'Bound'"
	}
	return out
}

// typeError is about what is CEL, but not about this kind, whose schema is root.
func typeError(one Spec, kind string, root *spec.Schema, parsed *ast.AST, issues *cel.Issues) *CompileError {
	out, cause := first(one, issues)
	found := locate(parsed.Expr(), cause.ExprID, scope{self: root})
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
		name := sel.FieldName()
		if _, known := holder.Properties[name]; known {
			break
		}
		where := written(sel.Operand(), parsed.SourceInfo())
		out.Message = fmt.Sprintf("%s has no field %s in %s", where, name, kind)
		out.Column += nameAfter(one.Expression, cause.Location, name)
		out.Meant, out.Advice = meant(where+".", name, holder)
	case ast.IdentKind:
		name := found.expr.AsIdent()
		out.Message = fmt.Sprintf("there is no variable %s", name)
		out.Advice = "the object is self, as in self.status"
		if root != nil {
			if near := text.Nearest(name, fieldNames(root)); near != "" {
				out.Meant = "self." + near
			}
		}
	default: // CEL's own words say what is wrong.
	}
	return out
}

// notBoolean is about what has a value, but none that could be true.
func notBoolean(one Spec, t *cel.Type) *CompileError {
	out := &CompileError{
		Spec:    one,
		Message: fmt.Sprintf("it is %s, and a condition has to be true or false", article(t.String())),
		Advice:  "compare it, as in EXPRESSION == VALUE",
	}
	if t.TypeName() == "optional_type" {
		out.Advice = "say what to assume if it is absent: .orValue(false)"
	}
	return out
}

func article(noun string) string {
	if noun != "" && strings.ContainsAny(noun[:1], "aeiou") {
		return "an " + noun
	}
	return "a " + noun
}

// nameAfter returns how many characters after a place a field's name stands: CEL
// points at the dot before it, or at the macro that it is in.
func nameAfter(text string, l common.Location, name string) int {
	lines := strings.Split(text, "\n")
	if l.Line() < 1 || l.Line() > len(lines) {
		return 0
	}
	line := []rune(lines[l.Line()-1])
	if l.Column() < 0 || l.Column() > len(line) {
		return 0
	}
	before, _, found := strings.Cut(string(line[l.Column():]), "."+name)
	if !found {
		return 0
	}
	return len([]rune(before)) + 1
}

// singleEquals reports whether there is an = outside of quotes that is no part of
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
