package gotemplate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/template/parse"
)

// Template is a parsed template, with those that it defines.
type Template struct {
	name  string
	trees map[string]*parse.Tree
}

// Parse reads a template. Its functions are those of text/template except call, plus
// kubectl's base64decode and exists.
func Parse(name, text string) (*Template, error) {
	known := map[string]any{}
	for function := range functions(nil) {
		known[function] = true
	}
	trees, err := parse.Parse(name, text, "", "", known)
	if err != nil {
		return nil, err
	}
	return &Template{name: name, trees: trees}, nil
}

// Execute writes the result of the template for a value: nil, a bool, a string, a number,
// []any, or map[string]any. A template may run forever: over is called now and then, and
// its error ends the execution; it may be nil, and is not called for short templates. The
// output and the results of functions are bounded by MaxText; beyond it the error is
// ErrTooMuch.
func (t *Template) Execute(out io.Writer, value any, over func() error) error {
	if value == nil {
		value = absent{}
	}
	b := &budget{left: MaxText}
	s := &state{template: t, functions: functions(b), out: writer{out, b}, budget: b, steps: &steps{over: over}}
	return s.call(t.name, value)
}

// steps counts what may be endless: iterations and calls.
type steps struct {
	over  func() error
	taken int
}

// take is called for each step.
func (s *steps) take() error {
	const between = 1000
	if s.taken++; s.over == nil || s.taken%between != 0 {
		return nil
	}
	return s.over()
}

// maxDepth is how deeply templates may call each other.
const maxDepth = 10_000

var (
	errBreak    = errors.New("break outside of range")
	errContinue = errors.New("continue outside of range")
)

// absent is the value of what does not exist, such as a key that an object lacks: its
// fields are all absent too. Those of null are an error.
type absent struct{}

type variable struct {
	name  string
	value any
}

// state is the state of an execution.
type state struct {
	template  *Template
	functions map[string]function
	out       io.Writer
	tree      *parse.Tree
	variables []variable
	depth     int
	steps     *steps
	budget    *budget
}

// call executes one of the templates, with its value as the only variable.
func (s *state) call(name string, dot any) error {
	tree := s.template.trees[name]
	if tree == nil {
		return fmt.Errorf("template %q is not defined", name)
	}
	if s.depth >= maxDepth {
		return fmt.Errorf("templates call each other more than %d deep", maxDepth)
	}
	if err := s.steps.take(); err != nil {
		return err
	}
	inner := &state{
		template: s.template, functions: s.functions, out: s.out, tree: tree, depth: s.depth + 1, steps: s.steps, budget: s.budget,
		variables: []variable{{"$", dot}},
	}
	if tree.Root == nil {
		return nil
	}
	return inner.walk(dot, tree.Root)
}

// at adds the position in the template to an error.
func (s *state) at(node parse.Node, err error) error {
	var placed *placedError
	if err == nil || errors.Is(err, errBreak) || errors.Is(err, errContinue) || errors.As(err, &placed) {
		return err
	}
	place, text := s.tree.ErrorContext(node)
	return &placedError{err: err, place: place, text: text}
}

type placedError struct {
	err         error
	place, text string
}

func (e *placedError) Error() string { return fmt.Sprintf("%s: at <%s>: %s", e.place, e.text, e.err) }
func (e *placedError) Unwrap() error { return e.err }

func (s *state) walk(dot any, node parse.Node) error {
	switch node := node.(type) {
	case *parse.ListNode:
		for _, n := range node.Nodes {
			if err := s.walk(dot, n); err != nil {
				return err
			}
		}
		return nil
	case *parse.TextNode:
		_, err := s.out.Write(node.Text)
		return err
	case *parse.ActionNode:
		value, err := s.pipeline(dot, node.Pipe)
		if err != nil || len(node.Pipe.Decl) > 0 {
			return err
		}
		return s.print(value)
	case *parse.IfNode:
		return s.choose(dot, &node.BranchNode, false)
	case *parse.WithNode:
		return s.choose(dot, &node.BranchNode, true)
	case *parse.RangeNode:
		return s.scoped(func() error { return s.loop(dot, node) })
	case *parse.TemplateNode:
		var value any = absent{}
		if node.Pipe != nil {
			var err error
			if value, err = s.pipeline(dot, node.Pipe); err != nil {
				return err
			}
		}
		return s.at(node, s.call(node.Name, value))
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	case *parse.CommentNode:
		return nil
	default:
		return s.at(node, fmt.Errorf("%s is not supported here", node))
	}
}

func (s *state) print(value any) error {
	if value == any(absent{}) {
		value = "<no value>"
	}
	if err := s.budget.room(plainSize([]any{value})); err != nil {
		return err
	}
	_, err := fmt.Fprint(s.out, value)
	return err
}

// scoped drops the variables that are declared in between.
func (s *state) scoped(work func() error) error {
	mark := len(s.variables)
	defer func() { s.variables = s.variables[:mark] }()
	return work()
}

// choose executes if, and with, which sets the dot.
func (s *state) choose(dot any, node *parse.BranchNode, with bool) error {
	return s.scoped(func() error {
		value, err := s.pipeline(dot, node.Pipe)
		switch {
		case err != nil:
			return err
		case truth(value) && with:
			return s.walk(value, node.List)
		case truth(value):
			return s.walk(dot, node.List)
		case node.ElseList != nil:
			return s.walk(dot, node.ElseList)
		default:
			return nil
		}
	})
}

func (s *state) loop(dot any, node *parse.RangeNode) error {
	value, err := s.pipeline(dot, node.Pipe)
	if err != nil {
		return err
	}
	mark := len(s.variables)
	ran := false
	once := func(index, element any) error {
		ran = true
		if err := s.steps.take(); err != nil {
			return err
		}
		return s.scoped(func() error {
			s.iterate(node.Pipe, mark, index, element)
			if err := s.walk(element, node.List); !errors.Is(err, errContinue) {
				return err
			}
			return nil
		})
	}
	err = s.each(node, value, once)
	if errors.Is(err, errBreak) {
		return nil
	}
	if err == nil && !ran && node.ElseList != nil {
		return s.walk(dot, node.ElseList)
	}
	return err
}

func (s *state) each(node *parse.RangeNode, value any, once func(index, element any) error) error {
	switch value := value.(type) {
	case absent:
		return nil
	case []any:
		for i, element := range value {
			if err := once(i, element); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if err := once(key, value[key]); err != nil {
				return err
			}
		}
		return nil
	case int:
		return count(s, node, value, once)
	case int64:
		return count(s, node, value, once)
	case uint8:
		return count(s, node, value, once)
	default:
		return s.at(node, fmt.Errorf("range cannot iterate over %v", value))
	}
}

func count[N int | int64 | uint8](s *state, node *parse.RangeNode, limit N, once func(index, element any) error) error {
	if len(node.Pipe.Decl) > 1 {
		return s.at(node, fmt.Errorf("%v has no second value to iterate over", limit))
	}
	for n := N(0); n < limit; n++ {
		if err := once(absent{}, n); err != nil {
			return err
		}
	}
	return nil
}

// iterate sets the variables of a range. The pipeline declared them; they are the last ones
// below mark.
func (s *state) iterate(pipe *parse.PipeNode, mark int, index, element any) {
	values := []any{element}
	if len(pipe.Decl) > 1 {
		values = []any{index, element}
	}
	for i := range pipe.Decl {
		if pipe.IsAssign {
			s.assign(pipe.Decl[i].Ident[0], values[i])
		} else {
			s.variables[mark-len(pipe.Decl)+i].value = values[i]
		}
	}
}

func (s *state) assign(name string, value any) bool {
	for i := len(s.variables) - 1; i >= 0; i-- {
		if s.variables[i].name == name {
			s.variables[i].value = value
			return true
		}
	}
	return false
}
