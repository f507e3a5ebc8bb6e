package table

import (
	"slices"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

type yamlLine struct {
	text   string
	owners []managedfields.Owner
	// part is set if the line continues the value above or is only the key of a map or list without
	// owners.
	part bool
	// unownable is set if the field cannot have an owner.
	unownable bool
}

// within fits the line into a width; 0 means any width. It shortens the middle of the value, since
// two images may differ only at the end, and then the key if it leaves no room for the value.
func (l yamlLine) within(width int) string {
	text := strings.ReplaceAll(l.text, "\t", "    ")
	if width == 0 || format.Cells(text) <= width {
		return text
	}
	before := text[:len(text)-len(strings.TrimLeft(text, " -"))]
	key, value := "", text[len(before):]
	if i := strings.Index(value, ": "); i >= 0 {
		key, value = value[:i+len(": ")], value[i+len(": "):]
	}
	if room := width - format.Cells(before+key); room >= format.LeastValue {
		return before + key + format.CutMiddle(value, room)
	}
	value = format.CutMiddle(value, format.LeastValue)
	if room := width - format.Cells(before) - len(": ") - format.Cells(value); room >= format.LeastValue && key != "" {
		return before + format.CutMiddle(strings.TrimSuffix(key, ": "), room) + ": " + value
	}
	return format.Cut(text, max(width, format.LeastValue))
}

// fieldTree lays out a tree of fields as YAML, one line for each field. It wraps none, because
// their owners are beside them.
type fieldTree struct{ format.YAMLLines }

func (y fieldTree) lines(nodes []managedfields.Node) []yamlLine {
	var out []yamlLine
	for _, n := range nodes {
		if name, ok := n.FieldName(); ok {
			out = append(out, y.field(name, n)...)
		} else {
			out = append(out, y.item(n)...)
		}
	}
	return out
}

func (y fieldTree) field(name string, n managedfields.Node) []yamlLine {
	key := format.Scalar(name) + ":"
	if len(n.Below) == 0 {
		if last, ok := n.Value.(string); ok && y.Fold && last != format.Masked && name == managedfields.LastAppliedAnnotation {
			n.Value = "(" + text.Count(len(last), "byte") + ")" // the whole object once more
		}
		return owned(n, y.Value(key, n.Value, true))
	}
	head := yamlLine{text: key, owners: n.Owners, part: len(n.Owners) == 0}
	below := y.lines(n.Below)
	if _, ok := n.Below[0].FieldName(); ok { // As in kubectl, lists are not indented below their key.
		below = deeper(below)
	}
	return append([]yamlLine{head}, below...)
}

// item formats an item of a list. Its first field is on the line of the dash, unless the two have
// different owners.
func (y fieldTree) item(n managedfields.Node) []yamlLine {
	if len(n.Below) == 0 {
		return owned(n, y.Value("-", n.Value, false))
	}
	below := deeper(y.lines(n.Below))
	first := &below[0]
	if len(n.Owners) > 0 && !slices.Equal(n.Owners, first.owners) {
		return append([]yamlLine{{text: "-", owners: n.Owners}}, below...)
	}
	first.text = "- " + strings.TrimPrefix(first.text, format.Indent)
	return below
}

func deeper(lines []yamlLine) []yamlLine {
	for i, line := range lines {
		if line.text != "" {
			lines[i].text = format.Indent + line.text
		}
	}
	return lines
}

func owned(n managedfields.Node, text []string) []yamlLine {
	out := make([]yamlLine, len(text))
	for i, line := range text {
		out[i] = yamlLine{text: line, part: i > 0}
	}
	out[0].owners, out[0].unownable = n.Owners, !n.Ownable()
	return out
}
