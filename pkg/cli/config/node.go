package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/build"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Error is a fault in the file, with its position.
type Error struct {
	File         string
	Line, Column int
	Err          error
	// Advice is the remedy; empty if the error contains it.
	Advice string
}

func (e *Error) Error() string { return e.location() + ": " + e.Err.Error() }

func (e *Error) location() string {
	switch {
	case e.Line == 0:
		return e.File
	case e.Column == 0:
		return fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
}

func (e *Error) Unwrap() error { return e.Err }

// Hint returns the advice, or else the page about the format.
func (e *Error) Hint() string { return cmp.Or(e.Advice, "see: "+build.Page("config.md")) }

type reader struct {
	file   string
	faults []error
	// seen counts the keys and items, including those behind each alias.
	seen int
}

// mostSeen limits seen, because aliases of aliases can expand a few bytes into any number of keys.
const mostSeen = 100_000

// visit counts the content of a node, and reports whether to read on.
func (r *reader) visit(n *yaml.Node) bool {
	if r.seen+len(n.Content) > mostSeen {
		r.fault(n, "", "the file has more than %d keys and items up to here, including those repeated by aliases", mostSeen)
		r.seen = mostSeen + 1
		return false
	}
	r.seen += len(n.Content)
	return true
}

// mostFaults is the maximum number of faults that are reported.
const mostFaults = 20

func (r *reader) fault(at *yaml.Node, advice, format string, args ...any) {
	switch {
	case r.seen > mostSeen, len(r.faults) > mostFaults:
		return
	case len(r.faults) == mostFaults:
		advice, format, args = "", "further errors are not shown", nil
	}
	r.faults = append(r.faults, &Error{File: r.file, Line: at.Line, Column: at.Column, Err: fmt.Errorf(format, args...), Advice: advice})
}

func (r *reader) location(at *yaml.Node) string {
	return (&Error{File: r.file, Line: at.Line, Column: at.Column}).location()
}

func (r *reader) root(data []byte) *yaml.Node {
	var document, second yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	err := documents.Decode(&document)
	if err != nil && !errors.Is(err, io.EOF) {
		r.faults = append(r.faults, syntaxOf(r.file, data, err))
		return nil
	}
	if len(document.Content) == 0 || document.Content[0].Tag == "!!null" {
		r.faults = append(r.faults, &Error{File: r.file, Err: errors.New("the file sets nothing"), Advice: orNone})
		return nil
	}
	if documents.Decode(&second) == nil {
		r.fault(&second, "", "a second document: the file must contain only one")
	}
	return document.Content[0]
}

// syntaxOf adds the position to a YAML error, which has no column.
func syntaxOf(file string, data []byte, err error) error {
	e := &Error{File: file, Err: err}
	words := strings.TrimPrefix(err.Error(), "yaml: ")
	if n, scanErr := fmt.Sscanf(words, "line %d:", &e.Line); n == 1 && scanErr == nil {
		_, words, _ = strings.Cut(words, ": ")
	} else if !bytes.Contains(bytes.TrimSpace(data), []byte("\n")) {
		e.Line = 1
	}
	e.Err = errors.New("not YAML: " + words)
	return e
}

type field struct {
	name       string
	key, value *yaml.Node
}

// fields returns the keys and values of a mapping. It reports and omits unknown keys, repeated
// keys, and keys without a value.
func (r *reader) fields(n *yaml.Node, what string, known []string) []field {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		r.fault(n, "", "%s must be a mapping", what)
		return nil
	}
	if !r.visit(n) {
		return nil
	}
	var all []field
	names := map[string]bool{} // A map, because a hostile file may have a hundred thousand keys.
	for i := 0; i+1 < len(n.Content); i += 2 {
		f := field{name: n.Content[i].Value, key: n.Content[i], value: resolved(n.Content[i+1])}
		switch {
		case names[f.name]:
			r.fault(f.key, "", "%s is set twice", f.name)
		case known != nil && !slices.Contains(known, f.name):
			r.fault(f.key, nearest(f.name, known), "unknown key %q", f.name)
		case f.value.Tag == "!!null":
			r.fault(f.key, "to leave it unset, remove the key", "%s has no value", f.name)
		default:
			all = append(all, f)
			names[f.name] = true
		}
	}
	return all
}

func nearest(name string, known []string) string {
	if intended := text.Nearest(name, known); intended != "" {
		return "did you mean " + intended + "?"
	}
	return "the keys are " + strings.Join(known, ", ")
}

func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// text reads a string. A scalar that YAML reads as another type must be quoted.
func (r *reader) text(what string, n *yaml.Node) (string, bool) {
	n = resolved(n)
	switch {
	case n.Kind != yaml.ScalarNode:
		r.fault(n, "", "%s must be a string", what)
	case n.Tag != "!!str":
		r.fault(n, "put it in quotes", "%s must be a string, not %s", what, n.Value)
	case n.Value == "":
		r.fault(n, "to leave it unset, remove the key", "%s is empty", what)
	default:
		return n.Value, true
	}
	return "", false
}

func (r *reader) list(what string, n *yaml.Node) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "", "%s must be a list", what)
		return nil
	}
	if !r.visit(n) {
		return nil
	}
	return n.Content
}

func (r *reader) texts(what string, n *yaml.Node, each func(string, *yaml.Node)) {
	for _, item := range r.list(what, n) {
		if s, ok := r.text("an item of "+what, item); ok {
			each(s, item)
		}
	}
}
