package condition

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
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

// isOpen reports whether a schema leaves open what is in an object, or what there is
// at all.
func isOpen(s *spec.Schema) bool {
	o := &openapi.Schema{Schema: s}
	if o.IsXIntOrString() {
		return false
	}
	if o.IsXPreserveUnknownFields() || o.IsXEmbeddedResource() || len(s.Type) != 1 {
		return true
	}
	switch s.Type[0] {
	case "object":
		return len(s.Properties) == 0 && (s.AdditionalProperties == nil || s.AdditionalProperties.Schema == nil)
	case "array":
		return s.Items == nil || s.Items.Schema == nil
	case "string", "boolean", "number", "integer":
		return false
	default:
		return true
	}
}

// hasNoStatus reports whether a kind is known to have no status. A schema that names
// no fields at all, or lets every field pass, tells nothing.
func hasNoStatus(s *spec.Schema) bool {
	if s == nil || len(s.Properties) == 0 {
		return false
	}
	if anything, _ := s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields"); anything {
		return false
	}
	_, has := s.Properties["status"]
	return !has
}

// listed is how many names of a schema an error lists.
const listed = 12

// meant proposes a field, or the one of that name one level deeper, such as below
// status; where none is near, it lists what there is.
func meant(where, name string, holder *spec.Schema) (meant, advice string) {
	names := fieldNames(holder)
	if near := text.Nearest(name, names); near != "" {
		return where + near, ""
	}
	for _, outer := range names {
		if _, found := holder.Properties[outer].Properties[name]; found && outer != "metadata" {
			return where + outer + "." + name, ""
		}
	}
	if len(names) > listed {
		names = append(names[:listed:listed], "…")
	}
	return "", "there are: " + strings.Join(names, ", ")
}

// fieldNames returns the fields that a schema declares.
func fieldNames(s *spec.Schema) []string { return slices.Sorted(maps.Keys(s.Properties)) }
