package yamldoc

import (
	"bytes"
	"encoding/json"
	"errors"
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
	n := t.node
	for _, step := range e.Steps {
		if isShared(n) {
			return nil, errShared
		}
		if _, n = child(n, step); n == nil {
			return nil, ErrForm
		}
	}
	if isShared(n) {
		return nil, errShared
	}
	edited, _, err := t.apply(t.set(n, e), e, "")
	return edited, err
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

// set proposes an edit of the value of a node.
func (e editor) set(n *yaml.Node, change Edit) []edit {
	switch {
	case n.Kind == yaml.ScalarNode && change.Key == nil:
		return e.setScalar(n, change.Value)
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
	return []edit{e.insertValue(line, n.Column, []any{change.Value})}
}

// appendBlock adds to a map or list in block style, after its last entry.
func (e editor) appendBlock(n *yaml.Node, change Edit) []edit {
	var content any = []any{change.Value}
	last := n.Content[len(n.Content)-1]
	column, from := n.Column, last
	if change.Key != nil {
		content, column, from = map[string]any{*change.Key: change.Value}, n.Content[0].Column, n.Content[len(n.Content)-2]
	}
	return []edit{e.insertValue(e.lastLine(from.Line, column, last)+1, column, content)}
}

// insertValue inserts a map or list in block style above a line of the document.
func (e editor) insertValue(line, column int, v any) edit {
	return e.insertLines(e.start(line), column-1, strings.Split(block(v), "\n")...)
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
		return e.setScalar(value, v)
	case isScalar(v):
		return nil
	}
	return []edit{e.insertValue(key.Line+1, key.Column+2, v)}
}

// setScalar replaces a scalar. A map or list replaces only a null.
func (e editor) setScalar(n *yaml.Node, v any) []edit {
	if !isScalar(v) && n.Value != "null" && n.Value != "~" {
		return nil
	}
	with := inline(v)
	if text, is := v.(string); is && !e.isJSON {
		if plain := block(text); !strings.ContainsAny(plain, "\n,[]{}|>") {
			with = plain
		}
	}
	return e.replace(n, with)
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
	return strings.TrimSpace(out.String())
}
