package yamldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	sigs "sigs.k8s.io/yaml"
)

// Edit changes one value of an object in a file. Steps leads from the top of the object to a map, a list
// or, to replace it, a scalar.
type Edit struct {
	Steps []any
	// Key is the field to add to the map; nil adds an item to the list, or replaces the scalar.
	Key   *string
	Value any
}

var errByHand = errors.New("the text has a form that can only be edited by hand")

// Apply returns the text of the file after an edit of the object that begins at the line. Everything else
// in the text stays as it is, byte by byte. It returns an error if the object shares the value by an
// alias, or if the text has a form that Apply cannot edit.
func (e Edit) Apply(file []byte, line int) ([]byte, error) {
	for _, d := range Split("", file) {
		lines := bytes.Count(d.Text, []byte("\n")) + 1
		if d.Line == 0 || line < d.Line || line >= d.Line+lines {
			continue
		}
		n := d.objectAt(d.nodes(), line)
		if n == nil {
			return nil, errByHand
		}
		x := newSetter(file, d.Line, d.Line+lines-1)
		if bytes.HasSuffix(d.Text, []byte("\n")) {
			x.last--
		}
		return x.apply(n, e)
	}
	return nil, fmt.Errorf("line %d has no object", line)
}

type setter struct {
	text   []byte
	starts []int // of lines
	// first is the line on which the document begins, and last its last one.
	first, last int
	eol         string
	isJSON      bool
}

func newSetter(text []byte, first, last int) *setter {
	x := &setter{text: text, first: first, last: last, eol: "\n", starts: []int{0}}
	for i, c := range text {
		if c == '\n' {
			x.starts = append(x.starts, i+1)
		}
	}
	if bytes.Contains(text, []byte("\r\n")) {
		x.eol = "\r\n"
	}
	x.isJSON = startsJSON(text[x.starts[first-1]:])
	return x
}

func (x *setter) apply(n *yaml.Node, e Edit) ([]byte, error) {
	for _, step := range e.Steps {
		if n.Kind == yaml.AliasNode || n.Anchor != "" {
			return nil, errors.New("the value is shared by a YAML alias: edit it by hand")
		}
		if _, n = child(n, step); n == nil {
			return nil, errByHand
		}
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return nil, errors.New("the value is shared by a YAML alias: edit it by hand")
	case n.Kind == yaml.ScalarNode && e.Key == nil:
		return x.replace(n, e.Value)
	case n.Kind == yaml.MappingNode && e.Key != nil, n.Kind == yaml.SequenceNode && e.Key == nil:
	default:
		return nil, errByHand
	}
	if e.Key != nil {
		if key, value := child(n, *e.Key); key != nil {
			return x.fill(n, key, value, e.Value)
		}
	}
	if n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0 {
		return x.flow(n, e)
	}
	return x.block(n, e)
}

// offset returns the position of a node in the file. A node's column counts characters.
func (x *setter) offset(n *yaml.Node) (int, bool) {
	at := x.starts[x.first-1+n.Line-1]
	for range n.Column - 1 {
		if at >= len(x.text) {
			return 0, false
		}
		_, size := utf8.DecodeRune(x.text[at:])
		at += size
	}
	return at, at < len(x.text)
}

func (x *setter) splice(from, to int, with string) []byte {
	return bytes.Join([][]byte{x.text[:from], []byte(with), x.text[to:]}, nil)
}

// line returns a line of the document, counted from 1, without its end.
func (x *setter) line(n int) string {
	i := x.first - 1 + n - 1
	end := len(x.text)
	if i+1 < len(x.starts) {
		end = x.starts[i+1]
	}
	return strings.TrimRight(string(x.text[x.starts[i]:end]), "\r\n")
}

// block adds to a map or list in block style, after its last entry.
func (x *setter) block(n *yaml.Node, e Edit) ([]byte, error) {
	var content any = []any{e.Value}
	column, from := n.Column, n.Content[len(n.Content)-1]
	if e.Key != nil {
		content, column, from = map[string]any{*e.Key: e.Value}, n.Content[0].Column, n.Content[len(n.Content)-2]
	} else if at, ok := x.offset(n); !ok || x.text[at] != '-' {
		return nil, errByHand
	}
	last, err := x.end(from.Line, column, n.Content[len(n.Content)-1])
	if err != nil {
		return nil, err
	}
	return x.insert(last, column, content)
}

// insert adds lines after a line of the document.
func (x *setter) insert(after, column int, content any) ([]byte, error) {
	text, err := sigs.Marshal(content)
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		if line != "" {
			line = strings.Repeat(" ", column-1) + line
		}
		out = append(out, line)
	}
	added := strings.Join(out, x.eol)
	if i := x.first - 1 + after; i < len(x.starts) {
		return x.splice(x.starts[i], x.starts[i], added+x.eol), nil
	}
	return x.splice(len(x.text), len(x.text), x.eol+added), nil // The file ends without a newline.
}

// end returns the last line of an entry that begins on a line. Its value is v.
func (x *setter) end(line, column int, v *yaml.Node) (int, error) {
	deepest := v
	for len(deepest.Content) > 0 && deepest.Style&yaml.FlowStyle == 0 {
		deepest = deepest.Content[len(deepest.Content)-1]
	}
	literal := deepest.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if literal && strings.ContainsAny(x.line(deepest.Line)[strings.LastIndexAny(x.line(deepest.Line), "|>")+1:], "+") {
		return 0, errByHand // The blank lines below belong to the value.
	}
	last := max(line, deepest.Line)
	if deepest.Style&yaml.FlowStyle != 0 && deepest.Kind != yaml.ScalarNode {
		at, ok := x.offset(deepest)
		_, closing, closed := x.scan(at)
		if !ok || !closed {
			return 0, errByHand
		}
		for last < x.last-x.first+1 && x.starts[x.first-1+last] <= closing {
			last++
		}
	}
	for n := last + 1; n <= x.last-x.first+1; n++ {
		text := x.line(n)
		trimmed := strings.TrimLeft(text, " ")
		indent := len(text) - len(trimmed) + 1
		switch {
		case strings.TrimSpace(trimmed) == "":
		case strings.HasPrefix(trimmed, "#") && (!literal || indent <= column):
		case indent > column, indent == column && v.Kind == yaml.SequenceNode && v.Column == column && strings.HasPrefix(trimmed, "-"):
			last = n
		default:
			return last, nil
		}
	}
	return last, nil
}

// scan finds the end of a flow collection that begins at an offset: where its last entry ends, and its
// closing bracket.
func (x *setter) scan(at int) (content, closing int, ok bool) {
	depth, quote := 0, byte(0)
	content = at
	for i := at; i < len(x.text); i++ {
		c := x.text[i]
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.IndexByte(" \t\r\n[{,:", x.text[i-1]) >= 0:
			quote = c
		case c == '#' && strings.IndexByte(" \t\r\n", x.text[i-1]) >= 0:
			for i+1 < len(x.text) && x.text[i+1] != '\n' {
				i++
			}
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return content, i, true
			}
		}
		if strings.IndexByte(" \t\r\n", c) < 0 {
			content = i
		}
	}
	return 0, 0, false
}

// flow adds to a map or list in flow style, such as JSON.
func (x *setter) flow(n *yaml.Node, e Edit) ([]byte, error) {
	at, ok := x.offset(n)
	if !ok || x.text[at] != '{' && x.text[at] != '[' {
		return nil, errByHand
	}
	content, closing, ok := x.scan(at)
	if !ok {
		return nil, errByHand
	}
	added, err := inline(e.Value)
	if err != nil {
		return nil, err
	}
	if e.Key != nil {
		key, err := inline(*e.Key)
		if err != nil {
			return nil, err
		}
		added = key + ": " + added
	}
	switch {
	case content == at:
	case x.text[content] == ',':
		added = " " + added
	case bytes.IndexByte(x.text[content:closing], '\n') >= 0 && len(n.Content) > 0:
		line := x.line(n.Content[0].Line)
		added = "," + x.eol + line[:len(line)-len(strings.TrimLeft(line, " \t"))] + added
	default:
		added = ", " + added
	}
	return x.splice(content+1, content+1, added), nil
}

func inline(v any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return strings.TrimSpace(out.String()), err
}

// fill replaces the null of a key.
func (x *setter) fill(parent, key, value *yaml.Node, v any) ([]byte, error) {
	if value.Tag != "!!null" {
		return nil, errByHand
	}
	if value.Value != "" || parent.Style&yaml.FlowStyle != 0 {
		return x.replace(value, v)
	}
	switch v.(type) {
	case map[string]any, []any:
		return x.insert(key.Line, key.Column+2, v)
	}
	return nil, errByHand
}

// replace replaces a scalar that is written on one line.
func (x *setter) replace(n *yaml.Node, v any) ([]byte, error) {
	at, ok := x.offset(n)
	if !ok || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 {
		return nil, errByHand
	}
	end := at + len(n.Value)
	if quote := x.text[at]; n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		for end = at + 1; end < len(x.text); end++ {
			escapes := quote == '"' && x.text[end] == '\\' || quote == '\'' && bytes.HasPrefix(x.text[end:], []byte("''"))
			if escapes {
				end++
			} else if x.text[end] == quote {
				break
			}
		}
		end++
	}
	if end > len(x.text) || bytes.IndexByte(x.text[at:end], '\n') >= 0 || n.Style == 0 && string(x.text[at:end]) != n.Value {
		return nil, errByHand
	}
	_, isMap := v.(map[string]any)
	_, isList := v.([]any)
	with, err := inline(v)
	if text, is := v.(string); is && !x.isJSON && err == nil {
		var plain []byte
		if plain, err = sigs.Marshal(text); err == nil && !bytes.Contains(bytes.TrimSpace(plain), []byte("\n")) && !bytes.ContainsAny(plain, ",[]{}|>") {
			with = strings.TrimSpace(string(plain))
		}
	}
	if err != nil {
		return nil, err
	}
	if (isMap || isList) && n.Value != "null" && n.Value != "~" {
		return nil, errByHand
	}
	return x.splice(at, end, with), nil
}
