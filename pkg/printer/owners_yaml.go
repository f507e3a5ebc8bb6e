package printer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// yamlLine is one line of an object's YAML.
type yamlLine struct {
	text   string
	owners []managedfields.Owner
	// part: the line belongs to the value that begins above it, or holds nothing of
	// its own.
	part bool
	// unownable: nobody can own what stands there.
	unownable bool
}

// within returns the line for a terminal that has so many columns left, 0 for any
// number. A value that is too long is cut in its middle, for the end of it is what
// tells two images apart; and so is a name that leaves no room for its value.
func (l yamlLine) within(width int) string {
	text := strings.ReplaceAll(l.text, "\t", "    ")
	if width == 0 || cells(text) <= width {
		return text
	}
	before := text[:len(text)-len(strings.TrimLeft(text, " -"))]
	key, value := "", text[len(before):]
	if i := strings.Index(value, ": "); i >= 0 {
		key, value = value[:i+len(": ")], value[i+len(": "):]
	}
	if room := width - cells(before+key); room >= leastValue {
		return before + key + cutMiddle(value, room)
	}
	value = cutMiddle(value, leastValue)
	if room := width - cells(before) - len(": ") - cells(value); room >= leastValue && key != "" {
		return before + cutMiddle(strings.TrimSuffix(key, ": "), room) + ": " + value
	}
	return cut(text, max(width, leastValue))
}

// yamlWriter lays a tree of fields out as YAML: one line for each field, none of
// them wrapped, for their owners stand beside them.
type yamlWriter struct {
	// fold shortens what has many lines; it is then not YAML any more.
	fold bool
}

// longestText is how many lines of a text are shown where it is folded.
const longestText = 4

func (y yamlWriter) lines(nodes []managedfields.Node) []yamlLine {
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

// field writes a field of a map.
func (y yamlWriter) field(name string, n managedfields.Node) []yamlLine {
	key := scalar(name) + ":"
	if len(n.Below) == 0 {
		if last, ok := n.Value.(string); ok && y.fold && last != masked && name == managedfields.LastAppliedAnnotation {
			n.Value = "(" + text.Count(len(last), "byte") + ")" // the whole object once more
		}
		return owned(n, y.value(key, n.Value, true))
	}
	head := yamlLine{text: key, owners: n.Owners, part: len(n.Owners) == 0}
	below := y.lines(n.Below)
	if _, ok := n.Below[0].FieldName(); ok { // Lists stand below their key, as kubectl has them.
		below = deeper(below)
	}
	return append([]yamlLine{head}, below...)
}

// item writes an item of a list. Its first field stands on the line of the dash,
// unless the two have different owners.
func (y yamlWriter) item(n managedfields.Node) []yamlLine {
	if len(n.Below) == 0 {
		return owned(n, y.value("-", n.Value, false))
	}
	below := deeper(y.lines(n.Below))
	first := &below[0]
	if len(n.Owners) > 0 && !slices.Equal(n.Owners, first.owners) {
		return append([]yamlLine{{text: "-", owners: n.Owners}}, below...)
	}
	first.text = "- " + strings.TrimPrefix(first.text, indent)
	return below
}

const indent = "  "

func deeper(lines []yamlLine) []yamlLine {
	for i, line := range lines {
		if line.text != "" {
			lines[i].text = indent + line.text
		}
	}
	return lines
}

// owned makes lines of a value whose owners are those of its first line.
func owned(n managedfields.Node, text []string) []yamlLine {
	out := make([]yamlLine, len(text))
	for i, line := range text {
		out[i] = yamlLine{text: line, part: i > 0}
	}
	out[0].owners, out[0].unownable = n.Owners, !n.Ownable()
	return out
}

// value writes a value behind "key:" or "-".
func (y yamlWriter) value(head string, v any, isField bool) []string {
	switch v := v.(type) {
	case string:
		if text, ok := block(v); ok {
			return y.folded(append([]string{head + " " + text[0]}, text[1:]...))
		}
		if y.fold && strings.Contains(v, "\n") {
			return []string{head + " " + text.Printable(value(v))}
		}
	case map[string]any:
		if len(v) > 0 {
			return y.container(head, v, false)
		}
	case []any:
		if len(v) > 0 {
			return y.container(head, v, isField)
		}
	}
	return []string{head + " " + scalar(v)}
}

// container writes a map or a list whose owners are those of the whole.
func (y yamlWriter) container(head string, v any, flush bool) []string {
	lines := y.nested(v)
	if head == "-" { // - a: 1
		for i := range lines {
			if i > 0 && lines[i] != "" {
				lines[i] = indent + lines[i]
			}
		}
		lines[0] = "- " + lines[0]
		return lines
	}
	out := []string{head}
	for _, line := range lines {
		if !flush && line != "" {
			line = indent + line
		}
		out = append(out, line)
	}
	return out
}

// nested writes the lines of a map or a list.
func (y yamlWriter) nested(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			out = append(out, y.value(scalar(name)+":", v[name], true)...)
		}
	case []any:
		for _, item := range v {
			out = append(out, y.value("-", item, false)...)
		}
	}
	return out
}

func (y yamlWriter) folded(lines []string) []string {
	if !y.fold || len(lines) <= longestText+1 {
		return lines
	}
	more := len(lines) - longestText
	return append(slices.Clip(lines[:longestText]), fmt.Sprintf("%s%s (+%s)", indent, text.Ellipsis, text.Count(more, "line")))
}

// scalar writes a scalar, or what is empty, on one line. A text that a terminal must
// not get, or that YAML would wrap, is quoted as Go does it: YAML knows the same
// escapes.
func scalar(v any) string {
	out, err := yaml.Marshal(v)
	line := strings.TrimSuffix(string(out), "\n")
	switch s, isText := v.(string); {
	case isText && (s != text.Printable(s) || strings.Contains(line, "\n")):
		return strconv.Quote(s)
	case err != nil: // Not from a cluster.
		return strconv.Quote(fmt.Sprint(v))
	default:
		return line
	}
}

// block writes a text of several lines as it stands, the first of them with the
// indicator. It reports whether it can: YAML knows no escapes there.
func block(s string) ([]string, bool) {
	body := strings.TrimRight(s, "\n")
	if !strings.Contains(s, "\n") || body == "" {
		return nil, false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if plain := strings.ReplaceAll(line, "\t", ""); plain != text.Printable(plain) {
			return nil, false
		}
	}
	head := "|"
	if strings.ContainsAny(s[:1], " \n\t") {
		head += strconv.Itoa(len(indent))
	}
	end := len(s) - len(body)
	switch end {
	case 0:
		head += "-"
	case 1:
	default:
		head += "+"
	}
	out := []string{head}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			line = indent + line
		}
		out = append(out, line)
	}
	for range max(0, end-1) {
		out = append(out, "")
	}
	return out, true
}
