package condition

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// jsonPath is jsonpath={…}[=VALUE].
type jsonPath struct {
	spec   Spec
	secret bool
	// steps is the path if it is made of names and positions only.
	steps []any
	// parsers of any other path keep state while they work: one for each that
	// judges at the same time.
	parsers *sync.Pool
	tree    tree
}

func compileJSONPath(kind schema.GroupVersionKind, root *spec.Schema, s Spec) (judge, error) {
	parsed, err := parserOf(s.Expression)
	if err != nil {
		return nil, &CompileError{Spec: s, Message: oneLine(err.Error()), Meant: jsonPathForm}
	}
	j := &jsonPath{spec: s, secret: isSecret(kind)}
	var simple bool
	if j.steps, simple = stepsOf(parsed); simple {
		if problem := unknownField(kind, root, s, j.steps); problem != nil {
			return nil, problem
		}
		j.tree = tree{}.with(path{steps: j.steps}.fields())
		return j, nil
	}
	j.parsers = &sync.Pool{New: func() any {
		parser := jsonpath.New("for").AllowMissingKeys(true)
		if parser.Parse(s.Expression) != nil {
			return nil
		}
		return parser
	}}
	return j, nil
}

// parserOf parses; the parser is a library of reflection and slicing that is
// given what a user typed, so what it may panic with is an error.
func parserOf(text string) (parser *jsonpath.Parser, err error) {
	defer func() {
		if r := recover(); r != nil {
			parser, err = nil, fmt.Errorf("no JSONPath: %v", r)
		}
	}()
	return jsonpath.Parse("for", text)
}

// stepsOf returns the path as names and positions, if that is all there is to it.
func stepsOf(parsed *jsonpath.Parser) ([]any, bool) {
	if len(parsed.Root.Nodes) != 1 {
		return nil, false
	}
	l, ok := parsed.Root.Nodes[0].(*jsonpath.ListNode)
	if !ok {
		return nil, false
	}
	var steps []any
	for _, node := range l.Nodes {
		switch node := node.(type) {
		case *jsonpath.FieldNode:
			// {.} is the object as it is.
			if node.Value != "" {
				steps = append(steps, node.Value)
			}
		case *jsonpath.ArrayNode:
			first, last := node.Params[0], node.Params[1]
			if !first.Known || first.Value < 0 || !last.Derived || node.Params[2].Known {
				return nil, false
			}
			steps = append(steps, int64(first.Value))
		default:
			return nil, false
		}
	}
	return steps, len(steps) > 0
}

// unknownField returns an error for the first name that the schema does not know.
func unknownField(kind schema.GroupVersionKind, s *spec.Schema, sp Spec, steps []any) error {
	walked := ""
	for _, step := range steps {
		if s == nil {
			return nil
		}
		name, isName := step.(string)
		if !isName {
			if s.Items == nil {
				return nil
			}
			s = s.Items.Schema
			continue
		}
		next := below(s, name)
		if next == nil && len(s.Properties) > 0 && !shapeOf(s, tree{}).dynamic {
			where := walked
			if where == "" {
				where = "the object"
			}
			return &CompileError{
				Spec:    sp,
				Message: fmt.Sprintf("%s of %s has no field %s", where, kind.Kind, name),
				Meant:   meant(name, slices.Collect(maps.Keys(s.Properties)), walked+"."),
			}
		}
		walked += "." + name
		s = next
	}
	return nil
}

func (j *jsonPath) readTree() tree { return j.tree }

func (j *jsonPath) judge(_ context.Context, obj map[string]any, _ time.Time) Verdict {
	if obj == nil {
		return notFound()
	}
	value, shown, err := j.find(obj)
	seen := Value{Expr: j.spec.Expression, Value: shown, Absent: shown == nil}
	v := Verdict{Values: []Value{seen}}
	switch {
	case err != nil:
		return Verdict{Err: err}
	case value == nil:
		v.Reason, v.Message = ReasonAbsent, j.spec.Expression+" is absent"
	case !j.spec.HasValue:
		v.Met = true
	case composite(value):
		v.Err = fmt.Errorf("%s is an object or a list, which can not be compared", j.spec.Expression)
	case strings.TrimSpace(fmt.Sprint(value)) == strings.TrimSpace(j.spec.Value):
		v.Met = true
	default:
		v.Reason, v.Message = ReasonFalse, j.spec.Expression+" has another value"
	}
	return v
}

// find returns what is at the path, and what of it may be shown.
func (j *jsonPath) find(obj map[string]any) (value, shown any, err error) {
	if j.parsers == nil {
		value, _ = path{steps: j.steps}.find(obj)
	} else if value, err = j.search(obj); err != nil {
		return nil, nil, err
	}
	switch {
	case !j.secret:
		return value, value, nil
	case j.parsers == nil:
		shown, _ = path{steps: j.steps}.find(masked(obj))
	default:
		shown, err = j.search(masked(obj))
	}
	return value, shown, err
}

// search evaluates any JSONPath.
func (j *jsonPath) search(obj map[string]any) (value any, err error) {
	parser, ok := j.parsers.Get().(*jsonpath.JSONPath)
	if !ok {
		return nil, errors.New("the JSONPath can not be evaluated")
	}
	defer func() {
		// The library finds its way by reflection: what it stumbles over is no
		// reason to stop judging. A parser that stumbled is not used again.
		if r := recover(); r != nil {
			value, err = nil, fmt.Errorf("%s can not be evaluated on this object", j.spec.Expression)
		}
	}()
	results, err := parser.FindResults(obj)
	if err != nil {
		if j.secret {
			return nil, fmt.Errorf("%s can not be evaluated on this Secret", j.spec.Expression)
		}
		return nil, fmt.Errorf("%s: %w", j.spec.Expression, err)
	}
	j.parsers.Put(parser)
	if len(results) == 0 || len(results[0]) == 0 {
		return nil, nil
	}
	if len(results) > 1 || len(results[0]) > 1 {
		return nil, fmt.Errorf("%s finds %d values, and has to find one", j.spec.Expression, len(results[0]))
	}
	found := results[0][0]
	if !found.IsValid() || !found.CanInterface() {
		return nil, nil
	}
	return found.Interface(), nil
}
