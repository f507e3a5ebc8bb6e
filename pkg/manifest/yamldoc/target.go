package yamldoc

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// target is an object in a text that is edited.
type target struct {
	editor
	docs []*Document
	// doc is the index of the object's document, and path the steps from its top to the object.
	doc  int
	path []any
	node *yaml.Node
}

// targetAt returns the object that begins at the given line of a text. It returns [ErrForm] if there is
// no such object, or if its document shares the line with another one.
func targetAt(text []byte, line int) (target, error) {
	t := target{docs: Split("", text)}
	t.doc = -1
	for i, d := range t.docs {
		if d.Line <= line {
			t.doc = i
		}
	}
	if t.doc < 0 || t.doc > 0 && t.docs[t.doc-1].Line == t.docs[t.doc].Line || t.docs[t.doc].nodes() == nil {
		return t, ErrForm
	}
	d := t.docs[t.doc]
	t.node = d.objectAt(d.nodes(), line)
	t.path = pathTo(d.nodes(), t.node)
	start := newEditor(text, 0, len(text)).start(d.Line)
	begin := bytes.Index(text[start:], d.Text) // A JSON document may begin within a line.
	if begin < 0 {
		return t, ErrForm
	}
	t.editor = newEditor(text, start+begin, start+begin+len(d.Text))
	return t, nil
}

// pathTo returns the steps through nested lists of items that lead to an object.
func pathTo(top, n *yaml.Node) []any {
	_, items := child(top, "items")
	if top == n || items == nil {
		return nil
	}
	for i, item := range items.Content {
		if below := pathTo(item, n); item == n || len(below) > 0 {
			return append([]any{"items", i}, below...)
		}
	}
	return nil
}

// object returns the decoded object; nil if it is not a map.
func (t target) object() map[string]any {
	value, _ := t.docs[t.doc].Decode()
	for _, step := range t.path {
		value = childOf(value, step)
	}
	object, _ := value.(map[string]any)
	return object
}

func childOf(value, step any) any {
	switch s := step.(type) {
	case string:
		fields, _ := value.(map[string]any)
		return fields[s]
	case int:
		if items, _ := value.([]any); s < len(items) {
			return items[s]
		}
	}
	return nil
}

// apply returns the result of the first edit that makes exactly this change of the object, and the line of
// the inserted text that contains mark.
func (t target) apply(edits []edit, change Edit, mark string) ([]byte, int, error) {
	return t.first(edits, mark, func(edited []byte) bool {
		docs := Split("", edited)
		if len(docs) != len(t.docs) {
			return false
		}
		for i, d := range docs {
			if i != t.doc && !bytes.Equal(d.Text, t.docs[i].Text) {
				return false
			}
		}
		before, after := t.docs[t.doc], docs[t.doc]
		want, faults := before.Decode()
		got, others := after.Decode()
		want, ok := change.in(want, slices.Concat(t.path, change.Steps))
		return ok && len(faults) == 0 && len(others) == 0 && reflect.DeepEqual(want, got) &&
			json.Valid(before.Text) == json.Valid(after.Text)
	})
}
