package cel

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Self is the variable for the object.
const Self = "self"

// Place is a place below a variable: self.status.conditions[0]. A step is a string (a field), a Key
// or an int64.
type Place struct {
	Variable string
	Steps    []any
}

// Key is a step in brackets, as in labels["app"].
type Key string

// Below returns the place one step below.
func (p Place) Below(step any) Place {
	return Place{Variable: p.Variable, Steps: append(slices.Clip(p.Steps), step)}
}

// Names returns the names before the first index. It also stops before the first name that CEL may
// have escaped.
func (p Place) Names() []string {
	var out []string
	for _, step := range p.Steps {
		if k, ok := step.(Key); ok {
			out = append(out, string(k))
			continue
		}
		name, ok := step.(string)
		if !ok {
			break
		}
		out = append(out, name)
		// CEL escapes some names. Only the object shows whether this one is escaped.
		if unescaped, ok := apiservercel.Unescape(name); ok && unescaped != name {
			return out[:len(out)-1]
		}
	}
	return out
}

// Find returns the value at the place. A null counts as absent.
func (p Place) Find(value any) (any, bool) {
	for _, step := range p.Steps {
		switch step := step.(type) {
		case Key:
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

// Missing returns the shortest place on the path to p that has no value.
func (p Place) Missing(value any) Place {
	for i := range p.Steps {
		outer := Place{Variable: p.Variable, Steps: p.Steps[:i+1]}
		if _, there := outer.Find(value); !there {
			return outer
		}
	}
	return p
}

func (p Place) String() string {
	var b strings.Builder
	b.WriteString(p.Variable)
	for _, step := range p.Steps {
		switch step := step.(type) {
		case Key:
			b.WriteString("[" + strconv.Quote(string(step)) + "]")
		case string:
			b.WriteString("." + step)
		case int64:
			b.WriteString("[" + strconv.FormatInt(step, 10) + "]")
		}
	}
	return b.String()
}

// scope maps variables to their schemas, which are nil if unknown.
type scope map[string]*spec.Schema

type sight struct {
	expr  ast.Expr
	scope scope
}

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
	default:
	}
	return nil
}

// The step of a filter macro is: CONDITION ? result + [element] : result.
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
