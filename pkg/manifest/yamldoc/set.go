package yamldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apijson "sigs.k8s.io/json"
	sigs "sigs.k8s.io/yaml"
)

// Edit changes one value of an object in a file. Steps leads from the top of the object to a map, a list
// or, to replace it, a scalar.
type Edit struct {
	Steps []any
	// Key is the field to add to the map; nil adds an item to the list, or replaces the scalar.
	Key   *string
	Value any
	// Before is the number of the item, from 1, before which an item is added; 0 adds it at the end.
	Before int
}

var errShared = errors.New("the value is shared by a YAML alias: edit it by hand")

func isShared(n *yaml.Node) bool { return n.Kind == yaml.AliasNode || n.Anchor != "" }

// Apply returns the text of the file after an edit of the object that begins at the line. Everything else
// in the text stays as it is, byte by byte. It returns an error if the object shares the value by an
// alias, and [ErrForm] if it cannot edit the text.
func (e Edit) Apply(file []byte, line int) ([]byte, error) {
	t, err := targetAt(file, line)
	if err != nil {
		return nil, err
	}
	// A decoded text has other types of numbers than the caller.
	if err := apijson.UnmarshalCaseSensitivePreserveInts([]byte(inline(e.Value)), &e.Value); err != nil {
		return nil, err
	}
	n, above := t.node, 0
	for _, step := range e.Steps {
		if isShared(n) {
			return nil, errShared
		}
		name, value := child(n, step)
		if value == nil {
			return nil, ErrForm
		}
		if above = n.Column - 1; n.Kind == yaml.MappingNode {
			above = name.Column - 1
		}
		n = value
	}
	if isShared(n) {
		return nil, errShared
	}
	edited, _, err := t.apply(t.set(n, above, e), e, "")
	return edited, err
}

// Line returns the line of the value, or of its closest ancestor that the file has.
func (e Edit) Line(file []byte, line int) int {
	t, err := targetAt(file, line)
	if err != nil {
		return line
	}
	n := t.node
	for _, step := range e.Steps {
		name, value := child(n, step)
		if name == nil {
			break
		}
		n, line = value, t.docs[t.doc].sourceOfNode(name).Line
	}
	return line
}

// in returns a decoded value after the edit; false if the edit does not fit the value.
func (e Edit) in(value any, steps []any) (any, bool) {
	if len(steps) > 0 {
		below, ok := e.in(childOf(value, steps[0]), steps[1:])
		switch s := steps[0].(type) {
		case string:
			if fields, is := value.(map[string]any); ok && is {
				fields[s] = below
				return fields, true
			}
		case int:
			if items, is := value.([]any); ok && is && s < len(items) {
				items[s] = below
				return items, true
			}
		}
		return nil, false
	}
	switch v := value.(type) {
	case map[string]any:
		if v == nil || e.Key == nil {
			return nil, false
		}
		v[*e.Key] = e.Value
		return v, true
	case []any:
		if e.Before > len(v) {
			return nil, false
		}
		at := len(v)
		if e.Before > 0 {
			at = e.Before - 1
		}
		return slices.Insert(v, at, e.Value), e.Key == nil
	}
	return e.Value, e.Key == nil
}

// set proposes edits of the value of a node. above is the indentation of the map or list that contains it.
func (e editor) set(n *yaml.Node, above int, change Edit) []edit {
	switch {
	case n.Kind == yaml.ScalarNode && change.Key == nil:
		return e.setScalar(n, above, change.Value)
	case n.Kind == yaml.MappingNode && change.Key != nil:
		if key, value := child(n, *change.Key); key != nil {
			return e.fill(n, key, value, change.Value)
		}
	case n.Kind == yaml.SequenceNode && change.Key == nil && change.Before > 0:
		return e.insertItem(n, change)
	case n.Kind == yaml.SequenceNode && change.Key == nil:
	default:
		return nil
	}
	if n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0 {
		return e.appendFlow(n, change)
	}
	return e.appendBlock(n, change)
}

// insertItem adds an item before another one and the comments above that.
func (e editor) insertItem(n *yaml.Node, change Edit) []edit {
	if change.Before > len(n.Content) {
		return nil
	}
	next := n.Content[change.Before-1]
	if n.Style&yaml.FlowStyle != 0 {
		text := inline(change.Value) + ", "
		if next.Line != n.Line {
			text = inline(change.Value) + "," + e.eol + strings.Repeat(" ", next.Column-1)
		}
		return []edit{{at: e.offset(next), insert: text}}
	}
	is := func(line int, prefix string) bool {
		text := e.line(line)
		return len(text) >= n.Column && strings.TrimSpace(text[:n.Column-1]) == "" && strings.HasPrefix(text[n.Column-1:], prefix)
	}
	line := next.Line
	for line > n.Line && !is(line, "-") {
		line--
	}
	for line > 1 && is(line-1, "#") {
		line--
	}
	return e.insertValue(line, n.Column, change)
}

// appendBlock adds to a map or list in block style, after its last entry.
func (e editor) appendBlock(n *yaml.Node, change Edit) []edit {
	last := n.Content[len(n.Content)-1]
	column, from := n.Column, last
	if change.Key != nil {
		column, from = n.Content[0].Column, n.Content[len(n.Content)-2]
	}
	end := e.lastLine(from.Line, column, last) + 1
	edits := e.insertValue(end, column, change)
	// Blank lines at the end can be a part of a text above them.
	below := end
	for below < len(e.lines) && strings.TrimSpace(e.line(below)) == "" {
		below++
	}
	if below > end {
		edits = append(edits, e.insertValue(below, column, change)...)
	}
	return edits
}

// insertValue inserts a field or an item above a line of the document: in block style, or, if that would be
// another value, such as for a text with odd ends of lines, in flow style.
func (e editor) insertValue(line, column int, change Edit) []edit {
	var v any = []any{change.Value}
	flow := "- " + inline(change.Value)
	if change.Key != nil {
		v, flow = map[string]any{*change.Key: change.Value}, inline(*change.Key)+": "+inline(change.Value)
	}
	return []edit{
		e.insertLines(e.start(line), column-1, strings.Split(block(v), "\n")...),
		e.insertLines(e.start(line), column-1, flow),
	}
}

// appendFlow adds to a map or list in flow style, such as JSON.
func (e editor) appendFlow(n *yaml.Node, change Edit) []edit {
	last, closing, ok := e.flowEnd(n)
	if !ok {
		return nil
	}
	added := inline(change.Value)
	if change.Key != nil {
		added = inline(*change.Key) + ": " + added
	}
	switch {
	case len(n.Content) == 0:
	case e.text[last-1] == ',':
		added = " " + added
	case bytes.IndexByte(e.text[last-1:closing], '\n') >= 0:
		line := e.line(n.Content[0].Line)
		added = "," + e.eol + line[:len(line)-len(strings.TrimLeft(line, " \t"))] + added
	default:
		added = ", " + added
	}
	return []edit{{at: last, insert: added}}
}

// fill replaces the null of a key.
func (e editor) fill(parent, key, value *yaml.Node, v any) []edit {
	switch {
	case value.Tag != "!!null":
		return nil
	case value.Value != "" || parent.Style&yaml.FlowStyle != 0:
		return e.setScalar(value, key.Column-1, v)
	case isScalar(v):
		return []edit{{at: e.scalarEnd(key) + 1, insert: " " + inline(v)}}
	}
	return []edit{e.insertLines(e.start(key.Line+1), key.Column+1, strings.Split(block(v), "\n")...)}
}

// setScalar replaces a scalar. A map or list replaces only a null.
func (e editor) setScalar(n *yaml.Node, above int, v any) []edit {
	if !isScalar(v) && n.Value != "null" && n.Value != "~" {
		return nil
	}
	with := inline(v)
	var edits []edit
	if text, is := v.(string); is && !e.isJSON {
		edits = e.setText(n, above, text)
		if plain := block(text); !strings.ContainsAny(plain, "\n,[]{}|>") {
			with = plain
		}
	}
	return append(edits, e.replace(n, with)...)
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// block returns a decoded value in block style.
func block(v any) string {
	out, _ := sigs.Marshal(v) // Each decoded value can be written.
	return strings.TrimSuffix(string(out), "\n")
}

// inline returns a value as JSON; "" if it cannot be written.
func inline(v any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v)
	return escaped(strings.TrimSpace(out.String()))
}

// escaped replaces the characters that JSON allows in a text, and YAML does not.
// https://yaml.org/spec/1.2.2/#51-character-set
func escaped(json string) string {
	var b strings.Builder
	for _, r := range json {
		if r >= 0x7f && r < 0xa0 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
