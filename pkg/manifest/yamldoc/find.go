package yamldoc

import (
	"go.yaml.in/yaml/v3"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Written returns the scalar at a path as spelled in the file. It returns "" for a quoted value.
func (d *Document) Written(path []any) string {
	_, text := d.field(d.Source(), d.nodes(), path)
	return text
}

// Find finds a field of the object that begins at the given source. The keys and positions in steps
// lead from the top of the object down to the field. Find returns the field's place and, for an
// unquoted scalar, its spelling. If there is no such field, it returns the source unchanged.
func (d *Document) Find(at object.Source, steps []any) (object.Source, string) {
	return d.field(at, d.objectAt(d.nodes(), at.Line), steps)
}

func (d *Document) field(at object.Source, n *yaml.Node, steps []any) (object.Source, string) {
	place := at
	for _, step := range steps {
		name, value := child(n, step)
		if name == nil {
			return at, ""
		}
		place, n = d.sourceOfNode(name), value
	}
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	if n == nil || n.Kind != yaml.ScalarNode || n.Style&quoted != 0 {
		return place, ""
	}
	return place, n.Value
}

func (d *Document) objectAt(n *yaml.Node, line int) *yaml.Node {
	_, items := child(n, "items")
	if items == nil || items.Kind != yaml.SequenceNode {
		return n
	}
	for _, item := range items.Content {
		if d.sourceOfNode(item).Line == line {
			return item
		}
		if below := d.objectAt(item, line); below != item {
			return below
		}
	}
	return n
}
