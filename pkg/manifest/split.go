package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

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
	// asIs: what a server wrote stays.
	asIs bool
}

func (d *document) source() object.Source { return object.Source{File: d.file, Line: d.line} }

// toUTF8 removes a byte order mark and converts UTF-16, such as Windows PowerShell
// writes, to UTF-8.
func toUTF8(name string, text []byte) ([]byte, error) {
	if isUTF32(text) {
		return nil, &inputError{where: name, text: "UTF-32 text, which no reader of YAML or JSON accepts", hint: "save it as UTF-8"}
	}
	if decoder := utf16Of(text); decoder != nil {
		var err error
		if text, _, err = transform.Bytes(decoder, text); err != nil {
			return nil, &inputError{where: name, err: err}
		}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if utf8.Valid(text) {
		return text, nil
	}
	line := 1
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		rest = rest[size:]
	}
	return nil, &inputError{where: fmt.Sprintf("%s:%d", name, line), text: "not UTF-8 text"}
}

// utf16Of returns a decoder for UTF-16 text; nil for any other. Without a mark, the first
// character decides, which is ASCII in YAML and JSON alike: half of it is a zero byte,
// which no UTF-8 text may contain (YAML 1.2, 5.2).
func utf16Of(text []byte) transform.Transformer {
	if len(text) < 2 {
		return nil
	}
	order := unicode.LittleEndian
	switch first, second := text[0], text[1]; {
	case first == 0xFF && second == 0xFE, first != 0 && second == 0:
	case first == 0xFE && second == 0xFF, first == 0 && second != 0:
		order = unicode.BigEndian
	default:
		return nil
	}
	return unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder()
}

// isUTF32 reports whether a text begins with the mark of UTF-32, or with an ASCII
// character in it.
func isUTF32(text []byte) bool {
	if len(text) < 4 {
		return false
	}
	a, b, c, d := text[0], text[1], text[2], text[3]
	little := c == 0 && d == 0 && (a == 0xFF && b == 0xFE || a != 0 && b == 0)
	big := a == 0 && b == 0 && (c == 0xFE && d == 0xFF || c == 0 && d != 0)
	return little || big
}

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
