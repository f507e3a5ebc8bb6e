package yamldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ErrForm means that a text is written in a form to which nothing can be added without changes to
// the rest, for example with aliases.
var ErrForm = errors.New("the text has a form that cannot be edited")

// edit replaces a part of a text.
type edit struct {
	at, length int
	insert     string
}

func (e edit) apply(text []byte) []byte {
	return slices.Concat(text[:e.at], []byte(e.insert), text[e.at+e.length:])
}

// editor proposes edits of a mapping in a text. The tree gives positions only, so every proposal is
// checked: the caller decodes the result.
type editor struct {
	text []byte
	// start is the place in text where the document begins.
	start int
	eol   string
}

func newEditor(text []byte, start int) editor {
	eol := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		eol = "\r\n"
	}
	return editor{text, start, eol}
}

// offset returns the place of a node. A column counts characters.
func (e editor) offset(n *yaml.Node) int {
	at := e.start
	for range n.Line - 1 {
		at = e.below(at)
	}
	for range n.Column - 1 {
		if at >= len(e.text) || e.text[at] == '\n' {
			break
		}
		at++
		for at < len(e.text) && e.text[at]&0xc0 == 0x80 {
			at++
		}
	}
	return at
}

// below returns the place where the next line begins.
func (e editor) below(at int) int {
	if i := bytes.IndexByte(e.text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(e.text)
}

// insertLines inserts lines at the beginning of a line.
func (e editor) insertLines(at int, indent int, lines ...string) edit {
	var b strings.Builder
	if at > 0 && e.text[at-1] != '\n' {
		b.WriteString(e.eol)
	}
	for _, line := range lines {
		b.WriteString(strings.Repeat(" ", indent) + line + e.eol)
	}
	return edit{at: at, insert: b.String()}
}

// end returns the place after a scalar of one line. It is wrong for other scalars.
func (e editor) end(n *yaml.Node) int {
	at := e.offset(n)
	rest := e.text[at:]
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return at + i + 1
			}
		}
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			if rest[i] != '\'' {
				continue
			}
			if i+1 < len(rest) && rest[i+1] == '\'' {
				i++
				continue
			}
			return at + i + 1
		}
	}
	return min(at+len(n.Value), len(e.text))
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
		written := add.key
		if len(content) > 0 && content[0].Style&yaml.DoubleQuotedStyle != 0 || startsJSON(e.text[e.start:]) {
			written = quoted(add.key)
		}
		text := written + ": " + add.flow
		if len(content) == 0 {
			return []edit{{at: e.offset(mapping) + 1, insert: text}}
		}
		edits := []edit{{at: e.offset(mapping) + 1, insert: text + ", "}}
		if after >= 0 && content[after+1].Kind == yaml.ScalarNode {
			between := " "
			if n := content[after]; n.Line != mapping.Line {
				between = e.eol + strings.Repeat(" ", n.Column-1)
			}
			edits = append([]edit{{at: e.end(content[after+1]), insert: "," + between + text}}, edits...)
		}
		return edits
	}
	if len(content) == 0 {
		return nil
	}
	indent := content[0].Column - 1
	var edits []edit
	if after >= 0 && content[after+1].Kind == yaml.ScalarNode {
		edits = append(edits, e.insertLines(e.below(e.offset(content[after+1])), indent, add.lines...))
	}
	if key != nil { // Above the first entry, its comment would move to the new entry.
		edits = append(edits, e.insertLines(e.below(e.offset(key)), indent, add.lines...))
	}
	return edits
}

// replace proposes an edit that replaces a scalar.
func (e editor) replace(n *yaml.Node, by string) []edit {
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	at := e.offset(n)
	return []edit{{at: at, length: e.end(n) - at, insert: by}}
}

func quoted(text string) string {
	out, _ := inline(text) // A string has no error.
	return out
}

// first returns the result of the first edit that makes exactly the intended change, and the line
// of the inserted text that contains mark.
func first(text []byte, edits []edit, mark string, exact func([]byte) bool) ([]byte, int, error) {
	for _, e := range edits {
		edited := e.apply(text)
		if !exact(edited) {
			continue
		}
		at := e.at + max(strings.Index(e.insert, mark), 0)
		return edited, 1 + bytes.Count(edited[:at], []byte("\n")), nil
	}
	return nil, 0, ErrForm
}

// SetAnnotation sets an annotation of the object that begins at the given line, and returns the
// line of the annotation. Everything else stays as written. value returns the new value, or false if
// the object is not the intended one. SetAnnotation returns [ErrForm] if it finds no such object or
// cannot edit it.
func SetAnnotation(text []byte, line int, key string, value func(map[string]any) (string, bool)) (edited []byte, at int, err error) {
	docs := Split("", text)
	i, path := locate(docs, line)
	if i < 0 || docs[i].nodes() == nil {
		return nil, 0, ErrForm
	}
	d := docs[i]
	n := d.objectAt(d.nodes(), line)
	top, _ := d.Decode()
	object := objectIn(top, path)
	if object == nil {
		return nil, 0, ErrForm
	}
	set, ok := value(object)
	if !ok {
		return nil, 0, ErrForm
	}
	e := newEditor(text, 0)
	for range d.Line - 1 {
		e.start = e.below(e.start)
	}
	begin := bytes.Index(text[e.start:], d.Text)
	if begin < 0 {
		return nil, 0, ErrForm
	}
	e.start += begin
	exact := func(edited []byte) bool { return sameBut(docs, Split("", edited), i, path, key, set) }
	return first(text, e.annotate(n, key, set), key, exact)
}

// ObjectAt returns the object that begins at the given line of a text; nil if there is none.
func ObjectAt(text []byte, line int) map[string]any {
	docs := Split("", text)
	i, path := locate(docs, line)
	if i < 0 {
		return nil
	}
	top, _ := docs[i].Decode()
	return objectIn(top, path)
}

// locate returns the index of the document that contains a line, and the path of the object that
// begins there. It returns -1 if there is no such document, or if several share the line.
func locate(docs []*Document, line int) (int, []int) {
	i := -1
	for j, d := range docs {
		if d.Line <= line {
			i = j
		}
	}
	if i < 0 || i > 0 && docs[i-1].Line == docs[i].Line {
		return -1, nil
	}
	top := docs[i].nodes()
	return i, pathOf(top, docs[i].objectAt(top, line))
}

func (e editor) annotate(n *yaml.Node, key, value string) []edit {
	metaKey, meta := child(n, "metadata")
	if meta == nil || meta.Kind != yaml.MappingNode {
		return nil
	}
	one := entry{key: key, lines: []string{key + ": " + quoted(value)}, flow: quoted(value)}
	annotationsKey, annotations := child(meta, "annotations")
	switch {
	case annotations == nil:
		after := -1
		for i := 0; i+1 < len(meta.Content); i += 2 {
			if slices.Contains([]string{"name", "namespace", "generateName"}, meta.Content[i].Value) {
				after = i
			}
		}
		step := 2
		if meta.Style&yaml.FlowStyle == 0 && len(meta.Content) > 0 {
			step = max(meta.Content[0].Column-metaKey.Column, 1)
		}
		written := key
		if startsJSON(e.text[e.start:]) || len(meta.Content) > 0 && meta.Content[0].Style&yaml.DoubleQuotedStyle != 0 {
			written = quoted(key)
		}
		return e.add(metaKey, meta, after, entry{
			key: "annotations", flow: "{" + written + ": " + one.flow + "}",
			lines: []string{"annotations:", strings.Repeat(" ", step) + one.lines[0]},
		})
	case annotations.Kind == yaml.ScalarNode && annotations.Value == "":
		return []edit{e.insertLines(e.below(e.offset(annotationsKey)), annotationsKey.Column+1, one.lines...)}
	case annotations.Kind == yaml.ScalarNode:
		return e.replace(annotations, "{"+quoted(key)+": "+one.flow+"}")
	}
	if _, present := child(annotations, key); present != nil {
		return e.replace(present, quoted(value))
	}
	return e.add(annotationsKey, annotations, len(annotations.Content)-2, one)
}

// pathOf returns the positions in nested lists of items that lead to an object.
func pathOf(top, n *yaml.Node) []int {
	_, items := child(top, "items")
	if top == n || items == nil {
		return nil
	}
	for i, item := range items.Content {
		if below := pathOf(item, n); item == n || len(below) > 0 {
			return append([]int{i}, below...)
		}
	}
	return nil
}

// sameBut reports whether the documents differ only in an annotation of one object.
func sameBut(before, after []*Document, i int, path []int, key, value string) bool {
	if len(before) != len(after) {
		return false
	}
	for j := range before {
		if json.Valid(before[j].Text) != json.Valid(after[j].Text) {
			return false
		}
		want, faults := before[j].Decode()
		got, others := after[j].Decode()
		if len(faults) > 0 || len(others) > 0 || j == i && !annotate(objectIn(want, path), key, value) || !reflect.DeepEqual(want, got) {
			return false
		}
	}
	return true
}

func objectIn(value any, path []int) map[string]any {
	top, _ := value.(map[string]any)
	if len(path) == 0 {
		return top
	}
	items, _ := top["items"].([]any)
	if path[0] >= len(items) {
		return nil
	}
	return objectIn(items[path[0]], path[1:])
}

func annotate(object map[string]any, key, text string) bool {
	meta, _ := object["metadata"].(map[string]any)
	if meta == nil {
		return false
	}
	annotations, _ := meta["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[key], meta["annotations"] = text, annotations
	return true
}
