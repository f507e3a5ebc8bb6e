package yamldoc

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// ErrForm means that a text is written in a form that cannot be edited without changes to the rest, for
// example with aliases.
var ErrForm = errors.New("the text has a form that can only be edited by hand")

// edit replaces a part of a text.
type edit struct {
	at, length int
	insert     string
}

func (e edit) apply(text []byte) []byte {
	return slices.Concat(text[:e.at], []byte(e.insert), text[e.at+e.length:])
}

// editor proposes edits of one document in a text. The tree gives positions only, and yaml/v3 counts lines
// differently if the text has rare line ends. So every proposal is checked: the caller decodes the result.
type editor struct {
	text []byte
	// lines are the places where the document's lines begin, and the place where the document ends.
	lines  []int
	eol    string
	isJSON bool
}

func newEditor(text []byte, start, end int) editor {
	e := editor{text: text, lines: []int{start}, eol: "\n", isJSON: startsJSON(text[start:end])}
	for at := start; at < end; e.lines = append(e.lines, at) {
		if i := bytes.IndexByte(text[at:end], '\n'); i >= 0 {
			at += i + 1
		} else {
			at = end
		}
	}
	if bytes.Contains(text, []byte("\r\n")) {
		e.eol = "\r\n"
	}
	return e
}

// start returns the place where a line of the document begins. Lines are counted from 1.
func (e editor) start(line int) int { return e.lines[min(line, len(e.lines))-1] }

// below returns the place where the line below a node begins.
func (e editor) below(n *yaml.Node) int { return e.start(n.Line + 1) }

// line returns a line of the document without its end.
func (e editor) line(n int) string {
	return strings.TrimRight(string(e.text[e.start(n):e.start(n+1)]), "\r\n")
}

// offset returns the place of a node. A column counts characters.
func (e editor) offset(n *yaml.Node) int {
	at := e.start(n.Line)
	for range n.Column - 1 {
		if at >= len(e.text) || e.text[at] == '\n' {
			break
		}
		_, size := utf8.DecodeRune(e.text[at:])
		at += size
	}
	return at
}

// scalarEnd returns the place after a quoted or a plain scalar. It is wrong for other scalars.
func (e editor) scalarEnd(n *yaml.Node) int {
	at := e.offset(n)
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 || at >= len(e.text) {
		return e.plainEnd(at, n.Value)
	}
	quote := e.text[at]
	for i := at + 1; i < len(e.text); i++ {
		switch {
		case quote == '"' && e.text[i] == '\\', quote == '\'' && bytes.HasPrefix(e.text[i:], []byte("''")):
			i++
		case e.text[i] == quote:
			return i + 1
		}
	}
	return len(e.text)
}

// plainEnd returns the place after a plain scalar. Its words can be on several lines.
func (e editor) plainEnd(at int, value string) int {
	for word := range strings.FieldsSeq(value) {
		i := bytes.Index(e.text[at:], []byte(word))
		if i < 0 || strings.TrimSpace(string(e.text[at:at+i])) != "" {
			return at
		}
		at += i + len(word)
	}
	return at
}

// flowEnd returns where the last entry of a map or list in flow style ends, and the place of its closing
// bracket.
func (e editor) flowEnd(n *yaml.Node) (last, closing int, ok bool) {
	at := e.offset(n)
	if at >= len(e.text) || e.text[at] != '{' && e.text[at] != '[' {
		return 0, 0, false
	}
	depth, quote := 0, byte(0)
	for i := at; i < len(e.text); i++ {
		c := e.text[i]
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.IndexByte(" \t\r\n[{,:", e.text[i-1]) >= 0:
			quote = c
		case c == '#' && strings.IndexByte(" \t\r\n", e.text[i-1]) >= 0:
			for i+1 < len(e.text) && e.text[i+1] != '\n' {
				i++
			}
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return last, i, true
			}
		}
		if strings.IndexByte(" \t\r\n", c) < 0 {
			last = i + 1
		}
	}
	return 0, 0, false
}

// lastLine returns the last line of an entry that begins on a line, in the given column. Its value is v.
func (e editor) lastLine(line, column int, v *yaml.Node) int {
	deepest := v
	for len(deepest.Content) > 0 && deepest.Style&yaml.FlowStyle == 0 {
		deepest = deepest.Content[len(deepest.Content)-1]
	}
	literal := deepest.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	last := max(line, deepest.Line)
	if _, closing, ok := e.flowEnd(deepest); ok { // The closing bracket may be indented like the entry.
		for last+1 < len(e.lines) && e.start(last+1) <= closing {
			last++
		}
	}
	for n := last + 1; n < len(e.lines); n++ {
		text := e.line(n)
		trimmed := strings.TrimLeft(text, " ")
		indent := len(text) - len(trimmed) + 1
		switch {
		case strings.TrimSpace(trimmed) == "":
		case strings.HasPrefix(trimmed, "#") && (!literal || indent <= column):
		case indent > column, indent == column && v.Kind == yaml.SequenceNode && v.Column == column && strings.HasPrefix(trimmed, "-"):
			last = n
		default:
			return last
		}
	}
	return last
}

// insertLines inserts lines at the beginning of a line, or below a text that ends without a newline.
func (e editor) insertLines(at, indent int, lines ...string) edit {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString(e.eol)
		}
		if line != "" {
			b.WriteString(strings.Repeat(" ", indent) + line)
		}
	}
	if at > 0 && e.text[at-1] != '\n' {
		return edit{at: at, insert: e.eol + b.String()}
	}
	return edit{at: at, insert: b.String() + e.eol}
}

// replace proposes an edit that replaces a scalar.
func (e editor) replace(n *yaml.Node, by string) []edit {
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	at := e.offset(n)
	return []edit{{at: at, length: e.scalarEnd(n) - at, insert: by}}
}

// entry is a key with its value: in block style, the lines; in flow style, the text.
type entry struct {
	key   string
	lines []string
	flow  string
}

// add proposes edits that add an entry to a mapping, after the entry with the given index if there
// is one. key is the key whose value the mapping is; nil for a whole document.
func (e editor) add(key, mapping *yaml.Node, after int, add entry) []edit {
	if mapping.Kind != yaml.MappingNode {
		return nil
	}
	content := mapping.Content
	if mapping.Style&yaml.FlowStyle != 0 {
		text := e.flowKey(mapping, add.key) + ": " + add.flow
		if len(content) == 0 {
			return []edit{{at: e.offset(mapping) + 1, insert: text}}
		}
		edits := []edit{{at: e.offset(mapping) + 1, insert: text + ", "}}
		if after >= 0 && content[after+1].Kind == yaml.ScalarNode {
			between := " "
			if n := content[after]; n.Line != mapping.Line {
				between = e.eol + strings.Repeat(" ", n.Column-1)
			}
			edits = append([]edit{{at: e.scalarEnd(content[after+1]), insert: "," + between + text}}, edits...)
		}
		return edits
	}
	if len(content) == 0 {
		return nil
	}
	indent := content[0].Column - 1
	var edits []edit
	if after >= 0 && content[after+1].Kind == yaml.ScalarNode {
		edits = append(edits, e.insertLines(e.below(content[after+1]), indent, add.lines...))
	}
	if key != nil { // Above the first entry, its comment would move to the new entry.
		edits = append(edits, e.insertLines(e.below(key), indent, add.lines...))
	}
	return edits
}

// flowKey writes a key like the other keys of a mapping.
func (e editor) flowKey(mapping *yaml.Node, key string) string {
	if e.isJSON || len(mapping.Content) > 0 && mapping.Content[0].Style&yaml.DoubleQuotedStyle != 0 {
		return inline(key)
	}
	return key
}

// first returns the result of the first edit that makes exactly the intended change, and the line
// of the inserted text that contains mark.
func (e editor) first(edits []edit, mark string, exact func([]byte) bool) ([]byte, int, error) {
	for _, proposed := range edits {
		edited := proposed.apply(e.text)
		if !exact(edited) {
			continue
		}
		at := proposed.at + max(strings.Index(proposed.insert, mark), 0)
		return edited, 1 + bytes.Count(edited[:at], []byte("\n")), nil
	}
	return nil, 0, ErrForm
}
