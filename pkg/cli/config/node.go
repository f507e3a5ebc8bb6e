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

// Error is a fault of the file, with its place.
type Error struct {
	File         string
	Line, Column int
	Err          error
	// Advice is the remedy; empty if the error says it.
	Advice string
}

func (e *Error) Error() string { return e.place() + ": " + e.Err.Error() }

func (e *Error) place() string {
	switch {
	case e.Line == 0:
		return e.File
	case e.Column == 0:
		return fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
}

func (e *Error) Unwrap() error { return e.Err }

// Hint returns the advice, or where the format is described.
func (e *Error) Hint() string { return cmp.Or(e.Advice, "see: "+build.Page("config.md")) }

// reader reads the nodes of a file and collects their faults.
type reader struct {
	file   string
	faults []error
	// seen counts the keys and items read, those behind an alias each time.
	seen int
}

// mostSeen is the largest number of keys and items. Aliases of aliases make any number of them out
// of a few bytes.
const mostSeen = 100_000

// see counts what is below a node, and reports whether to read on.
func (r *reader) see(n *yaml.Node) bool {
	if r.seen+len(n.Content) > mostSeen {
		r.fault(n, "", "the file has more than %d keys and items up to here, those behind aliases counted each time", mostSeen)
		r.seen = mostSeen + 1 // Consequences are no faults.
		return false
	}
	r.seen += len(n.Content)
	return true
}

// mostFaults is how many faults are reported.
const mostFaults = 20

func (r *reader) fault(at *yaml.Node, advice, format string, args ...any) {
	switch {
	case r.seen > mostSeen, len(r.faults) > mostFaults:
		return
	case len(r.faults) == mostFaults:
		advice, format, args = "", "and more from here on", nil
	}
	r.faults = append(r.faults, &Error{File: r.file, Line: at.Line, Column: at.Column, Err: fmt.Errorf(format, args...), Advice: advice})
}

// place returns the file and line of a node.
func (r *reader) place(at *yaml.Node) string {
	return (&Error{File: r.file, Line: at.Line, Column: at.Column}).place()
}

// root returns the mapping at the top of the file; nil if there is a fault.
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
		r.fault(&second, "", "a second document: the file has to be one")
	}
	return document.Content[0]
}

// syntaxOf adds the place to a YAML error, which has no column, and a line only from the second one
// on.
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

// field is one key of a mapping with its value.
type field struct {
	name       string
	key, value *yaml.Node
}

// fields returns the keys of a mapping in order, each known and with a value.
func (r *reader) fields(n *yaml.Node, what string, known []string) []field {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		r.fault(n, "", "%s has to be a mapping", what)
		return nil
	}
	if !r.see(n) {
		return nil
	}
	var all []field
	names := map[string]bool{} // A hostile file has a hundred thousand.
	for i := 0; i+1 < len(n.Content); i += 2 {
		f := field{name: n.Content[i].Value, key: n.Content[i], value: resolved(n.Content[i+1])}
		switch {
		case names[f.name]:
			r.fault(f.key, "", "%s is there twice", f.name)
		case known != nil && !slices.Contains(known, f.name):
			r.fault(f.key, nearest(f.name, known), "unknown key %q", f.name)
		case f.value.Tag == "!!null":
			r.fault(f.key, "leave the key out to set nothing", "%s has no value", f.name)
		default:
			all = append(all, f)
			names[f.name] = true
		}
	}
	return all
}

func nearest(name string, known []string) string {
	if meant := text.Nearest(name, known); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "the keys are " + strings.Join(known, ", ")
}

// resolved returns the node, or the one that its alias names.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// text returns a scalar. Anything that is not text in YAML needs quotes.
func (r *reader) text(what string, n *yaml.Node) (string, bool) {
	n = resolved(n)
	switch {
	case n.Kind != yaml.ScalarNode:
		r.fault(n, "", "%s has to be a text", what)
	case n.Tag != "!!str":
		r.fault(n, "put it in quotes", "%s has to be a text, not %s", what, n.Value)
	case n.Value == "":
		r.fault(n, "leave the key out to set nothing", "%s is empty", what)
	default:
		return n.Value, true
	}
	return "", false
}

// list returns the items of a sequence.
func (r *reader) list(what string, n *yaml.Node) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "", "%s has to be a list", what)
		return nil
	}
	if !r.see(n) {
		return nil
	}
	return n.Content
}

// texts returns a sequence of texts with their nodes.
func (r *reader) texts(what string, n *yaml.Node, each func(string, *yaml.Node)) {
	for _, item := range r.list(what, n) {
		if s, ok := r.text("an item of "+what, item); ok {
			each(s, item)
		}
	}
}
