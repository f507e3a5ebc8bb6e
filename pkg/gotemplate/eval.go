package gotemplate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// argument is the value that the preceding command of a pipeline passes on, if there is
// one.
type argument struct {
	value any
	given bool
}

// pipeline returns the value of the last command, and declares the variables.
func (s *state) pipeline(dot any, pipe *parse.PipeNode) (any, error) {
	var last argument
	for _, command := range pipe.Cmds {
		value, err := s.command(dot, command, last)
		if err != nil {
			return nil, err
		}
		if value == nil {
			value = absent{}
		}
		last = argument{value, true}
	}
	for _, declared := range pipe.Decl {
		name := declared.Ident[0]
		if !pipe.IsAssign {
			s.variables = append(s.variables, variable{name, last.value})
		} else if !s.assign(name, last.value) {
			return nil, s.at(pipe, fmt.Errorf("undefined variable %s", name))
		}
	}
	return last.value, nil
}

func (s *state) command(dot any, command *parse.CommandNode, last argument) (any, error) {
	first := command.Args[0]
	takes := len(command.Args) > 1 || last.given
	switch node := first.(type) {
	case *parse.IdentifierNode:
		value, err := s.function(dot, node, command.Args[1:], last)
		return value, s.at(node, err)
	case *parse.NilNode:
		return nil, s.at(node, errors.New("nil is not a command"))
	case *parse.FieldNode, *parse.ChainNode, *parse.VariableNode:
		value, err := s.fields(dot, node, takes)
		return value, s.at(node, err)
	default:
		if takes {
			return nil, s.at(node, fmt.Errorf("cannot give an argument to %s, which is not a function", node))
		}
		return s.value(dot, node)
	}
}

// fields follows the names of .a.b, $x.a.b or (…).a.b.
func (s *state) fields(dot any, node parse.Node, takes bool) (any, error) {
	value, names := dot, []string(nil)
	switch node := node.(type) {
	case *parse.FieldNode:
		names = node.Ident
	case *parse.ChainNode:
		var err error
		if value, err = s.value(dot, node.Node); err != nil {
			return nil, err
		}
		names = node.Field
	case *parse.VariableNode:
		var found bool
		if value, found = s.lookup(node.Ident[0]); !found {
			return nil, fmt.Errorf("undefined variable %s", node.Ident[0])
		}
		names = node.Ident[1:]
		if len(names) == 0 && takes {
			return nil, fmt.Errorf("cannot give an argument to %s, which is not a function", node)
		}
	}
	for i, name := range names {
		var err error
		if value, err = field(value, name, takes && i == len(names)-1); err != nil {
			return nil, err
		}
	}
	return value, nil
}

func field(value any, name string, takes bool) (any, error) {
	switch value := value.(type) {
	case absent:
		return absent{}, nil
	case nil:
		return nil, fmt.Errorf("cannot evaluate field %s of null", name)
	case map[string]any:
		if takes {
			return nil, fmt.Errorf("cannot give an argument to %s, which is not a function", name)
		}
		if found, ok := value[name]; ok {
			return found, nil
		}
		return absent{}, nil
	default:
		return nil, fmt.Errorf("cannot evaluate field %s of a %T", name, value)
	}
}

func (s *state) lookup(name string) (any, bool) {
	for _, v := range slices.Backward(s.variables) {
		if v.name == name {
			return v.value, true
		}
	}
	return nil, false
}

// value evaluates a node that stands for itself: an argument, or a whole command.
func (s *state) value(dot any, node parse.Node) (any, error) {
	switch node := node.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil
	case *parse.BoolNode:
		return node.True, nil
	case *parse.StringNode:
		return node.Text, nil
	case *parse.NumberNode:
		number, err := constant(node)
		return number, s.at(node, err)
	case *parse.PipeNode:
		return s.pipeline(dot, node)
	case *parse.IdentifierNode:
		value, err := s.function(dot, node, nil, argument{})
		return value, s.at(node, err)
	case *parse.FieldNode, *parse.ChainNode, *parse.VariableNode:
		value, err := s.fields(dot, node, false)
		return value, s.at(node, err)
	default:
		return nil, s.at(node, fmt.Errorf("%s is not supported here", node))
	}
}

// constant is the value of a number as an untyped constant in Go: an int, if it looks
// like one.
func constant(node *parse.NumberNode) (any, error) {
	looksHex := len(node.Text) > 2 && node.Text[0] == '0' && strings.ContainsRune("xX", rune(node.Text[1])) && !strings.ContainsAny(node.Text, "pP")
	looksRune := node.Text != "" && node.Text[0] == '\''
	switch {
	case node.IsComplex:
		return node.Complex128, nil
	case node.IsFloat && !looksHex && !looksRune && strings.ContainsAny(node.Text, ".eEpP"):
		return node.Float64, nil
	case node.IsInt:
		return int(node.Int64), nil
	default:
		return nil, fmt.Errorf("%s overflows int", node.Text)
	}
}

// function calls a function. The short-circuiting ones evaluate no more than they need.
func (s *state) function(dot any, node *parse.IdentifierNode, nodes []parse.Node, last argument) (any, error) {
	f, ok := s.functions[node.Ident]
	if !ok {
		return nil, fmt.Errorf("function %q is not defined", node.Ident)
	}
	given := len(nodes)
	if last.given {
		given++
	}
	if given < f.least || f.most > 0 && given > f.most {
		return nil, fmt.Errorf("%s does not take %d arguments", node.Ident, given)
	}
	var values []any
	for _, n := range nodes {
		value, err := s.value(dot, n)
		if err != nil {
			return nil, err
		}
		if f.until != nil && truth(value) == *f.until {
			return value, nil
		}
		values = append(values, present(value))
	}
	if last.given {
		values = append(values, present(last.value))
	}
	return f.call(values)
}

// present turns absent into null: functions do not distinguish the two.
func present(value any) any {
	if value == any(absent{}) {
		return nil
	}
	return value
}
