package manifest

import (
	"bytes"
	"encoding/json"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// document is one YAML document or one JSON value of a file. Its first line is the
// first line of content: comments above it do not belong to it.
type document struct {
	file string
	// line of the text's first line; 0 where lines mean nothing.
	line int
	text []byte
	// tree of the text, built when a position is first needed.
	tree *yaml.Node
	// aliases bounds the expansion of all documents together; nil for a single one.
	aliases *aliases
}

func (d *document) source() object.Source { return object.Source{File: d.file, Line: d.line} }

// below returns the source n lines below the document's first.
func (d *document) below(n int) object.Source {
	s := d.source()
	if s.Line > 0 {
		s.Line += n
	}
	return s
}

// aliases counts how much larger than its text the input becomes through aliases. With a
// nil counter each document is bounded, but not their sum.
type aliases struct{ total atomic.Int64 }

// split cuts a text into its documents. A line that is --- or ..., alone or followed by
// white space, ends a document wherever it stands: YAML forbids it even inside quotes
// and block scalars, and JSON cannot contain it. Documents that hold only comments are
// left out.
func split(file string, text []byte) []*document {
	var docs []*document
	current := document{file: file, line: 1}
	start := 0          // of the current document's content
	directives := false // it consists only of lines that begin with % so far
	for pos, line := 0, 1; pos < len(text); line++ {
		next := len(text)
		if i := bytes.IndexByte(text[pos:], '\n'); i >= 0 {
			next = pos + i + 1
		}
		here := text[pos:next]
		switch {
		case isMarker(here, "---") && directives:
			directives = false // they belong to the document that begins here
		case isMarker(here, "---"):
			docs = current.appendTo(docs, text[start:pos])
			start, current.line = pos, line
			if isInsignificant(here[len("---"):]) {
				start, current.line = next, line+1
			}
		case isMarker(here, "..."):
			docs = current.appendTo(docs, text[start:pos])
			start, current.line, directives = next, line+1, false
		case start == pos && isInsignificant(here):
			start, current.line = next, line+1
		case start == pos && here[0] == '%':
			directives = true
		}
		pos = next
	}
	return current.appendTo(docs, text[start:])
}

// appendTo appends the document with this text, unless it is empty. JSON may hold
// several values one after the other, each of them a document.
func (d document) appendTo(docs []*document, text []byte) []*document {
	if !isJSON(text) {
		if len(text) > 0 {
			d.text = text
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
		d.line += bytes.Count(text[done:begin], []byte("\n"))
		docs = append(docs, &document{file: d.file, line: d.line, text: text[begin:end]})
		d.line += bytes.Count(text[begin:end], []byte("\n"))
		done = end
	}
	// The rest is white space, or not JSON: then the decoder says so.
	rest := bytes.TrimLeft(text[done:], " \t\r\n")
	if len(rest) > 0 {
		d.line += bytes.Count(text[done:len(text)-len(rest)], []byte("\n"))
		docs = append(docs, &document{file: d.file, line: d.line, text: rest})
	}
	return docs
}

// isJSON reports whether the text may be JSON objects: it begins with a brace, which
// is kubectl's test. YAML's flow style begins so too.
func isJSON(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// isMarker reports whether the line is a document marker.
func isMarker(line []byte, marker string) bool {
	if !bytes.HasPrefix(line, []byte(marker)) {
		return false
	}
	return len(line) == len(marker) || bytes.IndexByte([]byte(" \t\r\n"), line[len(marker)]) >= 0
}

// isInsignificant reports whether the line is blank or a comment.
func isInsignificant(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) == 0 || line[0] == '#'
}
