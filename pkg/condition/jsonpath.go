package condition

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/condition/cel"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/redact"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type path struct {
	spec   Spec
	secret bool
	// steps are names and indexes; nil if the path contains anything else.
	steps []any
	names []string
}

func newPath(gvk schema.GroupVersionKind, s *spec.Schema, one Spec) (*path, error) {
	parsed, err := parsePath(one.Expression)
	if err != nil {
		return nil, &CompileError{Spec: one, Message: text.OneLine(err.Error())}
	}
	steps, whole := stepsOf(parsed)
	p := &path{spec: one, secret: cel.IsSecret(gvk), names: cel.Place{Steps: steps}.Names()}
	if whole {
		p.steps = steps
	}
	if s != nil {
		if wrong := unknownField(gvk, s, one, steps); wrong != nil {
			return nil, wrong
		}
	}
	return p, nil
}

// The library panics on some paths.
func parsePath(expression string) (parsed *jsonpath.Parser, err error) {
	defer func() {
		if r := recover(); r != nil {
			parsed, err = nil, fmt.Errorf("not a JSONPath: %v", r)
		}
	}()
	return jsonpath.Parse("", expression)
}

// whole is set if the path consists only of these names and indexes.
func stepsOf(parsed *jsonpath.Parser) (steps []any, whole bool) {
	if len(parsed.Root.Nodes) != 1 {
		return nil, false
	}
	list, ok := parsed.Root.Nodes[0].(*jsonpath.ListNode)
	if !ok {
		return nil, false
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *jsonpath.FieldNode:
			if node.Value != "" { // {.} is the object itself.
				steps = append(steps, node.Value)
			}
		case *jsonpath.ArrayNode:
			first, last := node.Params[0], node.Params[1]
			if !first.Known || first.Value < 0 || !last.Derived || node.Params[2].Known {
				return steps, false
			}
			steps = append(steps, int64(first.Value))
		default:
			return steps, false
		}
	}
	return steps, len(steps) > 0
}

// unknownField returns an error for the first step that the schema surely lacks. Where the schema is open or
// incomplete, any field may exist.
func unknownField(gvk schema.GroupVersionKind, s *spec.Schema, one Spec, steps []any) error {
	for i, step := range steps {
		if cel.IsOpen(s) {
			return nil
		}
		name, isName := step.(string)
		var next *spec.Schema
		switch {
		case !isName && s.Items != nil:
			next = s.Items.Schema
		case isName:
			next = cel.Below(s, name)
		}
		if next == nil && isName && len(s.Properties) > 0 {
			where := strings.TrimPrefix(cel.Place{Steps: steps[:i]}.String(), cel.Self)
			out := &CompileError{Spec: one, Message: strings.TrimSpace(fmt.Sprintf("%s has no field %s in %s", where, name, gvk.Kind))}
			if where == "" {
				out.Message = fmt.Sprintf("there is no field %s in %s", name, gvk.Kind)
			}
			out.Suggestion, out.Advice = cel.Suggest(where+".", name, s)
			return out
		}
		if next == nil {
			return nil
		}
		s = next
	}
	return nil
}

// reads returns only the leading names of the path, because everything after them lies in the part
// of the object that they select.
func (p *path) reads() cel.Reads {
	if len(p.names) == 0 {
		return cel.Reads{All: true}
	}
	return cel.Reads{Paths: [][]string{p.names}}
}

var errManyValues = errors.New("the path matches more than one value")

func (p *path) evaluate(_ context.Context, obj map[string]any, _ time.Time) Verdict {
	found, err := p.find(obj)
	if err != nil {
		return notEvaluated(err)
	}
	value := readiness.Value{Expr: p.spec.Expression}
	if len(found) == 0 {
		value.Absent = true
		return Verdict{Reason: "Absent", Message: "there is no value at " + p.spec.Expression, Values: []readiness.Value{value}}
	}
	value.Value = found[0]
	if p.secret {
		value.Value = p.visible(obj)
	}
	switch {
	case !p.spec.HasValue:
		return Verdict{Met: true, Reason: "Found", Message: "there is a value", Values: []readiness.Value{value}}
	case len(found) > 1:
		return notEvaluated(errManyValues)
	case cel.IsComposite(found[0]):
		return notEvaluated(errors.New("the path matches an object or a list, which cannot be compared"))
	}
	out := Verdict{Met: strings.TrimSpace(fmt.Sprint(found[0])) == strings.TrimSpace(p.spec.Value), Reason: "Equal", Values: []readiness.Value{value}}
	if !out.Met {
		out.Reason, out.Message = "NotEqual", fmt.Sprintf("it is %v, not %s", value.Value, p.spec.Value)
	}
	return out
}

func (p *path) visible(obj map[string]any) any {
	found, err := p.find(cel.Masked(obj))
	if err != nil || len(found) == 0 {
		return redact.Mask
	}
	return found[0]
}

func (p *path) find(obj map[string]any) ([]any, error) {
	if p.steps == nil {
		return p.search(obj)
	}
	found, there := cel.Place{Steps: p.steps}.Find(obj)
	if !there {
		return nil, nil
	}
	return []any{found}, nil
}

// search evaluates a path that contains more than names and indexes. Each call makes its own
// template, because a template keeps state. The library uses reflection and may panic.
func (p *path) search(obj map[string]any) (found []any, err error) {
	defer func() {
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("cannot evaluate %s on this object", p.spec.Expression)
		}
	}()
	j := jsonpath.New("").AllowMissingKeys(true)
	if err := j.Parse(p.spec.Expression); err != nil {
		return nil, err
	}
	results, err := j.FindResults(obj)
	if err != nil && p.secret { // The error may quote any value.
		return nil, fmt.Errorf("cannot evaluate %s on this Secret", p.spec.Expression)
	}
	if err != nil {
		return nil, err
	}
	for _, list := range results {
		for _, v := range list {
			if v.IsValid() && v.CanInterface() && v.Interface() != nil {
				found = append(found, v.Interface())
			}
		}
	}
	return found, nil
}
