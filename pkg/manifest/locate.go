package manifest

import (
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Locate finds a field of an object in the file that the object was read from: its place
// and, for an unquoted scalar, its spelling there. steps are keys and positions from the
// top of the object. If the file is gone, or the input has no lines, Locate returns the
// source as it was.
func Locate(at object.Source, steps []any) (object.Source, string) {
	info, err := os.Stat(at.File)
	if at.Line == 0 || err != nil || !info.Mode().IsRegular() {
		return at, ""
	}
	raw, err := os.ReadFile(at.File)
	if err != nil {
		return at, ""
	}
	text, err := toUTF8(at.File, raw)
	if err != nil {
		return at, ""
	}
	var d *document
	for _, candidate := range split(at.File, text) {
		if candidate.line <= at.Line {
			d = candidate
		}
	}
	if d == nil {
		return at, ""
	}
	return d.field(at, d.objectAt(d.nodes(), at.Line), steps)
}

// written is an unquoted scalar as the file spells it; empty for any other value.
func (d *document) written(path []any) string {
	_, text := d.field(d.source(), d.nodes(), path)
	return text
}

// field walks from a node down to a field.
func (d *document) field(at object.Source, n *yaml.Node, steps []any) (object.Source, string) {
	place := at
	for _, step := range steps {
		name, value := child(n, step)
		if name == nil {
			return at, ""
		}
		place, n = d.sourceOf(name), value
	}
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	if n == nil || n.Kind != yaml.ScalarNode || n.Style&quoted != 0 {
		return place, ""
	}
	return place, n.Value
}

// objectAt returns the object that begins at a line: the document's only one, or an item
// of a list.
func (d *document) objectAt(n *yaml.Node, line int) *yaml.Node {
	_, items := child(n, "items")
	if items == nil || items.Kind != yaml.SequenceNode {
		return n
	}
	for _, item := range items.Content {
		if d.sourceOf(item).Line == line {
			return item
		}
		if below := d.objectAt(item, line); below != item {
			return below
		}
	}
	return n
}
