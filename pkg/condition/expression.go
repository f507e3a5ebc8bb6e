package condition

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types/ref"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// self is the name of the object in an expression.
const self = "self"

// step is one step on the way into an object: a field or key, an item by its
// position, or each item.
type step struct {
	field string
	index int64
	kind  stepKind
}

type stepKind int

const (
	byField stepKind = iota
	byIndex
	byEach
)

// place is where in the object a part of an expression looks.
type place struct {
	steps []step
	// schema of what is there; nil where it is open.
	schema *spec.Schema
}

func (p *place) next(s step, within *spec.Schema) *place {
	return &place{append(slices.Clip(p.steps), s), within}
}

// read is a part of an expression that looks at one place, and no further.
type read struct {
	expr ast.Expr
	at   *place
	// tested: has(…), which is no error where there is nothing.
	tested bool
	// within: it reads something for each item of a list.
	within bool
}

// misspelt is a field that the schema does not know.
type misspelt struct {
	id     int64
	parent ast.Expr
	field  string
	schema *spec.Schema
}

// walk goes through an expression, in order of appearance, and finds what it reads
// and what is spelt wrong. It is followed as far as it can be read without being
// run; the rest is for the type checker.
type walk struct {
	reads    []read
	misspelt []misspelt
	calls    []ast.Expr
	scope    map[string]*place
	depth    int
}

// see returns the place that an expression leads to; nil if it leads to none.
// whole is false where something further in is read.
func (w *walk) see(e ast.Expr) {
	if at, tested, ok := w.lead(e); ok {
		w.reads = append(w.reads, read{expr: e, at: at, tested: tested, within: w.depth > 0})
		return
	}
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		if !isOperator(call.FunctionName()) {
			w.calls = append(w.calls, e)
		}
		if call.IsMemberFunction() {
			w.see(call.Target())
		}
		for _, arg := range call.Args() {
			w.see(arg)
		}
	case ast.SelectKind:
		w.see(e.AsSelect().Operand())
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			w.see(item)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			w.see(entry.AsMapEntry().Key())
			w.see(entry.AsMapEntry().Value())
		}
	case ast.ComprehensionKind:
		w.comprehension(e.AsComprehension())
	default: // Literals and names of loops' own variables read nothing.
	}
}

// comprehension follows all(), exists(), map() and filter() into each item.
func (w *walk) comprehension(c ast.ComprehensionExpr) {
	w.see(c.IterRange())
	w.see(c.AccuInit())
	before := w.scope
	w.scope = map[string]*place{}
	for name, at := range before {
		if name != c.AccuVar() {
			w.scope[name] = at
		}
	}
	for _, name := range []string{c.IterVar(), c.IterVar2()} {
		delete(w.scope, name)
	}
	if at, _, ok := w.lead(c.IterRange()); ok && at.schema != nil && typeOf(at.schema) == "array" {
		name := c.IterVar()
		if c.HasIterVar2() {
			name = c.IterVar2()
		}
		w.scope[name] = at.next(step{kind: byEach}, itemOf(at.schema))
	}
	w.depth++
	w.see(c.LoopStep())
	w.see(c.Result())
	w.depth--
	w.scope = before
}

// lead follows a chain of fields, keys and positions from the object.
func (w *walk) lead(e ast.Expr) (at *place, tested, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		at, ok = w.scope[e.AsIdent()]
		return at, false, ok
	case ast.SelectKind:
		sel := e.AsSelect()
		parent, _, ok := w.lead(sel.Operand())
		if !ok {
			return nil, false, false
		}
		return w.field(e.ID(), sel.Operand(), parent, sel.FieldName()), sel.IsTestOnly(), true
	case ast.CallKind:
		return w.leadCall(e)
	default:
		return nil, false, false
	}
}

// leadCall follows self.labels['x'], self.items[0], self.?status and
// self.labels[?'x'].
func (w *walk) leadCall(e ast.Expr) (at *place, tested, ok bool) {
	call := e.AsCall()
	optional := call.FunctionName() == operators.OptSelect || call.FunctionName() == operators.OptIndex
	if call.FunctionName() != operators.Index && !optional || len(call.Args()) != 2 || call.Args()[1].Kind() != ast.LiteralKind {
		return nil, false, false
	}
	parent, _, ok := w.lead(call.Args()[0])
	if !ok {
		return nil, false, false
	}
	switch key := value(call.Args()[1].AsLiteral()).(type) {
	case string:
		if call.FunctionName() == operators.OptSelect {
			return w.field(e.ID(), call.Args()[0], parent, key), true, true
		}
		within, _ := fieldOf(parent.schema, key)
		return parent.next(step{field: key}, within), optional, true
	case int64:
		return parent.next(step{kind: byIndex, index: key}, itemOf(parent.schema)), optional, true
	default:
		return nil, false, false
	}
}

// field takes one step by the name of a field, as CEL spells it.
func (w *walk) field(id int64, operand ast.Expr, parent *place, spelt string) *place {
	name := spelt
	if plain, ok := apiservercel.Unescape(spelt); ok {
		name = plain
	}
	s := parent.schema
	within, declared := fieldOf(s, name)
	if !declared && s != nil && !isOpen(s) && typeOf(s) == "object" && within == nil {
		w.misspelt = append(w.misspelt, misspelt{id, operand, spelt, s})
	}
	return parent.next(step{field: name}, within)
}

// value returns the Go value of a literal.
func value(v ref.Val) any { return v.Value() }

func isOperator(function string) bool {
	_, known := operators.FindReverse(function)
	return known || function == operators.NotStrictlyFalse || function == operators.OptSelect || function == operators.OptIndex
}

// conjuncts returns the parts of a && b && c.
func conjuncts(e ast.Expr) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.LogicalAnd {
		return []ast.Expr{e}
	}
	var out []ast.Expr
	for _, arg := range e.AsCall().Args() {
		out = append(out, conjuncts(arg)...)
	}
	return out
}

// find returns what an object has at a place; ok is false if there is nothing, or
// for each item: if one of them has nothing there.
func (p *place) find(v any) (found any, ok bool) { return findSteps(v, p.steps) }

func findSteps(v any, steps []step) (any, bool) {
	for i, s := range steps {
		switch c := v.(type) {
		case map[string]any:
			if v, ok := c[s.field]; s.kind == byField && ok {
				return findSteps(v, steps[i+1:])
			}
			return nil, false
		case []any:
			switch {
			case s.kind == byIndex && s.index >= 0 && s.index < int64(len(c)):
				return findSteps(c[s.index], steps[i+1:])
			case s.kind == byEach:
				return findEach(c, steps[i+1:])
			}
			return nil, false
		default:
			return nil, false
		}
	}
	return v, true
}

func findEach(items []any, steps []step) (any, bool) {
	found := make([]any, len(items))
	for i, item := range items {
		var ok bool
		if found[i], ok = findSteps(item, steps); !ok {
			return nil, false
		}
	}
	return found, true
}

// names returns the fields of a place as far as there is no list.
func (p *place) names() []string {
	var out []string
	for _, s := range p.steps {
		if s.kind != byField {
			break
		}
		out = append(out, s.field)
	}
	return out
}
