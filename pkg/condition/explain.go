package condition

import (
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
)

// unmet says which of the parts of a && b is false, and shows what those read.
func (x *expression) unmet(obj map[string]any, details *celgo.EvalDetails) Verdict {
	out := Verdict{Reason: "False"}
	all := conjuncts(x.tree.Expr())
	var texts []string
	for _, part := range all {
		v, ok := seen(details, part)
		if b, isBool := v.(types.Bool); ok && isBool && bool(b) {
			continue
		}
		if ok || len(all) == 1 {
			texts = append(texts, text(part, x.tree))
			out.Values = append(out.Values, x.values(obj, details, part)...)
		}
	}
	out.Message = "false: " + strings.Join(texts, ", ")
	return out
}

// absent returns the first thing that the expression needs and the object has not;
// empty if it has everything.
func (x *expression) absent(obj map[string]any) string {
	for _, r := range x.walk.reads {
		if _, there := r.at.find(obj); !there && !r.tested {
			return text(r.expr, x.tree)
		}
		// has(a.b) needs an a.
		if r.expr.Kind() == ast.SelectKind && r.tested {
			parent := &place{steps: r.at.steps[:len(r.at.steps)-1]}
			if _, there := parent.find(obj); !there {
				return text(r.expr.AsSelect().Operand(), x.tree)
			}
		}
	}
	return ""
}

// values returns what a part of the expression has read, each thing once.
func (x *expression) values(obj map[string]any, details *celgo.EvalDetails, part ast.Expr) []Value {
	shown := redact.Object(&unstructured.Unstructured{Object: obj}).Object
	w := &walk{scope: x.rootScope()}
	w.see(part)
	var out []Value
	known := map[string]bool{}
	add := func(v Value) {
		if !known[v.Expr] {
			known[v.Expr] = true
			out = append(out, v)
		}
	}
	for _, r := range w.reads {
		if r.within {
			continue // The list is shown.
		}
		// With has(…) and .?field, the thing itself is what matters.
		found, there := r.at.find(shown)
		add(Value{Expr: plain(text(r.expr, x.tree)), Value: found, Absent: !there})
	}
	secret := redact.IsSecret(refOf(obj))
	for _, call := range w.calls {
		if v, ok := x.called(details, call); ok && !secret {
			add(Value{Expr: text(call, x.tree), Value: v})
		}
	}
	return out
}

func (x *expression) rootScope() map[string]*place { return map[string]*place{self: {schema: x.open}} }

// plain takes has() and question marks off.
func plain(text string) string {
	if inner, ok := strings.CutPrefix(text, "has("); ok {
		text = strings.TrimSuffix(inner, ")")
	}
	return strings.NewReplacer(".?", ".", "[?", "[").Replace(text)
}

// seen returns the value that a part of the expression had, if it was looked at.
func seen(details *celgo.EvalDetails, part ast.Expr) (ref.Val, bool) {
	if details == nil || details.State() == nil {
		return nil, false
	}
	return details.State().Value(part.ID())
}

// called returns the result of a function, if it is a simple one.
func (x *expression) called(details *celgo.EvalDetails, call ast.Expr) (any, bool) {
	v, _ := seen(details, call)
	switch v := v.(type) {
	case types.Int:
		return int64(v), true
	case types.Double:
		return float64(v), true
	case types.String:
		return string(v), true
	case types.Bool:
		return bool(v), true
	default:
		return nil, false
	}
}
