package yamldoc

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Document is one YAML document or one JSON value in a file. It begins after any leading comments.
// It is not safe for concurrent use.
type Document struct {
	File string
	// Line is the line of the file on which Text begins, counted from 1. It is 0 if line numbers
	// would be meaningless.
	Line    int
	Text    []byte
	Aliases *Aliases
	// Lenient accepts duplicate and boolean keys, as kubectl and Helm do.
	Lenient bool

	tree *yaml.Node
}

// Source returns the place of the document's first line.
func (d *Document) Source() object.Source { return object.Source{File: d.File, Line: d.Line} }

func (d *Document) lineBelow(n int) object.Source {
	s := d.Source()
	if s.Line > 0 {
		s.Line += n
	}
	return s
}

// Split splits a text into documents. A line that consists only of --- or ... ends a document. YAML
// forbids such a line even inside quotes and block scalars, and JSON cannot contain it. Documents
// that contain only comments are omitted.
func Split(file string, text []byte) []*Document {
	var docs []*Document
	current := Document{File: file, Line: 1}
	start := 0          // where the current document's content begins
	directives := false // So far, the document contains only lines that begin with %.
	for pos, line := 0, 1; pos < len(text); line++ {
		next := len(text)
		if i := bytes.IndexByte(text[pos:], '\n'); i >= 0 {
			next = pos + i + 1
		}
		here := text[pos:next]
		switch {
		case isMarker(here, "---") && directives:
			directives = false // The directives belong to the document that begins here.
		case isMarker(here, "---"):
			docs = current.appendTo(docs, text[start:pos])
			start, current.Line = pos, line
			if isInsignificant(here[len("---"):]) {
				start, current.Line = next, line+1
			}
		case isMarker(here, "..."):
			docs = current.appendTo(docs, text[start:pos])
			start, current.Line, directives = next, line+1, false
		case start == pos && isInsignificant(here):
			start, current.Line = next, line+1
		case start == pos && here[0] == '%':
			directives = true
		}
		pos = next
	}
	return current.appendTo(docs, text[start:])
}

// JSON may contain several values in a row, each of which is a document.
func (d Document) appendTo(docs []*Document, text []byte) []*Document {
	if !startsJSON(text) {
		if len(text) > 0 {
			d.Text = text
			docs = append(docs, &d)
		}
		return docs
	}
	values := json.NewDecoder(bytes.NewReader(text))
	done := 0
	for {
		var value json.RawMessage
		if err := values.Decode(&value); err != nil {
			break
		}
		end := int(values.InputOffset())
		begin := end - len(value)
		d.Line += bytes.Count(text[done:begin], []byte("\n"))
		docs = append(docs, &Document{File: d.File, Line: d.Line, Text: text[begin:end]})
		d.Line += bytes.Count(text[begin:end], []byte("\n"))
		done = end
	}
	// The rest is white space, or invalid JSON that Decode will report.
	rest := bytes.TrimLeft(text[done:], " \t\r\n")
	if len(rest) > 0 {
		d.Line += bytes.Count(text[done:len(text)-len(rest)], []byte("\n"))
		docs = append(docs, &Document{File: d.File, Line: d.Line, Text: rest})
	}
	return docs
}

// IsJSON reports whether the text begins with a brace. kubectl uses the same test, which YAML in
// flow style also passes.
func (d *Document) IsJSON() bool { return startsJSON(d.Text) }

func startsJSON(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

func isMarker(line []byte, marker string) bool {
	if !bytes.HasPrefix(line, []byte(marker)) {
		return false
	}
	return len(line) == len(marker) || bytes.IndexByte([]byte(" \t\r\n"), line[len(marker)]) >= 0
}

func isInsignificant(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) == 0 || line[0] == '#'
}
