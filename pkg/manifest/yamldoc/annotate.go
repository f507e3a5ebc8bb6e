package yamldoc

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// SetAnnotation sets an annotation of the object that begins at the given line, and returns the
// line of the annotation. Everything else stays as written. value returns the new value, or false if
// the object is not the intended one. SetAnnotation returns [ErrForm] if it finds no such object or
// cannot edit it.
func SetAnnotation(text []byte, line int, key string, value func(map[string]any) (string, bool)) (edited []byte, at int, err error) {
	t, err := targetAt(text, line)
	if err != nil {
		return nil, 0, err
	}
	object := t.object()
	if object == nil {
		return nil, 0, ErrForm
	}
	set, ok := value(object)
	if !ok {
		return nil, 0, ErrForm
	}
	change := Edit{Steps: []any{"metadata", "annotations"}, Key: &key, Value: set}
	if _, annotated := childOf(object["metadata"], "annotations").(map[string]any); !annotated {
		change = Edit{Steps: []any{"metadata"}, Key: new("annotations"), Value: map[string]any{key: set}}
	}
	return t.apply(t.annotate(t.node, key, set), change, key)
}

// ObjectAt returns the object that begins at the given line of a text; nil if there is none.
func ObjectAt(text []byte, line int) map[string]any {
	t, err := targetAt(text, line)
	if err != nil {
		return nil
	}
	return t.object()
}

// annotate proposes edits that set an annotation of an object. People look for annotations below the name.
func (e editor) annotate(object *yaml.Node, key, value string) []edit {
	metaKey, meta := child(object, "metadata")
	if meta == nil || meta.Kind != yaml.MappingNode {
		return nil
	}
	one := entry{key: key, lines: []string{key + ": " + inline(value)}, flow: inline(value)}
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
		return e.add(metaKey, meta, after, entry{
			key: "annotations", flow: "{" + e.flowKey(meta, key) + ": " + one.flow + "}",
			lines: []string{"annotations:", strings.Repeat(" ", step) + one.lines[0]},
		})
	case annotations.Kind == yaml.ScalarNode && annotations.Value == "":
		return []edit{e.insertLines(e.below(annotationsKey), annotationsKey.Column+1, one.lines...)}
	case annotations.Kind == yaml.ScalarNode:
		return e.replace(annotations, "{"+inline(key)+": "+one.flow+"}")
	}
	if _, present := child(annotations, key); present != nil {
		return e.replace(present, inline(value))
	}
	return e.add(annotationsKey, annotations, len(annotations.Content)-2, one)
}
