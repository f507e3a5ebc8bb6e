package cel

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Error says that an expression does not compile.
type Error struct {
	// Line and Column are the position in the expression, starting at 1. They are zero if the whole
	// expression is wrong.
	Line, Column int
	// Message is one line without the position.
	Message string
	// Suggest is a suggestion, such as a similar name, or "".
	Suggestion string
	// Advice says what to write if Suggestion is empty. It may be empty too.
	Advice string
}

func (e *Error) Error() string { return e.Message }

// The other errors are mostly consequences of the first one.
func first(issues *cel.Issues) (*Error, *common.Error) {
	all := issues.Errors()
	if len(all) == 0 {
		return &Error{Message: text.OneLine(issues.Err().Error())}, &common.Error{}
	}
	l := all[0].Location
	if l.Line() < 1 {
		return &Error{Message: text.OneLine(all[0].Message)}, all[0]
	}
	return &Error{Line: l.Line(), Column: l.Column() + 1, Message: text.OneLine(all[0].Message)}, all[0]
}

func syntaxError(typed string, issues *cel.Issues) *Error {
	out, _ := first(issues)
	// ANTLR lists every token that could follow.
	out.Message, _, _ = strings.Cut(out.Message, " expecting {")
	if singleEquals(typed) {
		out.Advice = "compare with ==, as in self.status.phase == 'Bound'"
	}
	return out
}

func typeError(typed, kind string, root *spec.Schema, parsed *ast.AST, issues *cel.Issues) *Error {
	out, cause := first(issues)
	found := locate(parsed.Expr(), cause.ExprID, scope{Self: root})
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
		out.Column += nameAfter(typed, cause.Location, name)
		out.Suggestion, out.Advice = Suggest(where+".", name, holder)
	case ast.IdentKind:
		name := found.expr.AsIdent()
		out.Message = fmt.Sprintf("there is no variable %s", name)
		out.Advice = "the object is self, as in self.status"
		if root != nil {
			if near := text.Nearest(name, Names(root)); near != "" {
				out.Suggestion = "self." + near
			}
		}
	default:
	}
	return out
}

func notBoolean(t *cel.Type) *Error {
	out := &Error{
		Message: fmt.Sprintf("it is %s, but a condition must be true or false", article(t.String())),
		Advice:  "compare it, as in EXPRESSION == VALUE",
	}
	if t.TypeName() == "optional_type" {
		out.Advice = "give a default for when it is absent: .orValue(false)"
	}
	return out
}

func article(noun string) string {
	if noun != "" && strings.ContainsAny(noun[:1], "aeiou") {
		return "an " + noun
	}
	return "a " + noun
}

// nameAfter returns the distance from the position in CEL's error to the name, or 0. CEL's error
// gives the position of the dot or of a macro.
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

// singleEquals reports whether there is a single = outside quotes.
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
