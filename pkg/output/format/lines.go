package format

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// YAMLLines formats values as lines of YAML, each scalar on its own line and not wrapped.
type YAMLLines struct {
	// Fold shortens multi-line values. The result is not valid YAML.
	Fold bool
}

// longestText is how many lines of a folded text are shown.
const longestText = 4

// Indent is the indentation of one level of YAML.
const Indent = "  "

// Value formats a value after "key:" or "-".
func (y YAMLLines) Value(head string, v any, isField bool) []string {
	switch v := v.(type) {
	case string:
		if text, ok := block(v); ok {
			return y.folded(append([]string{head + " " + text[0]}, text[1:]...))
		}
		if y.Fold && strings.Contains(v, "\n") {
			return []string{head + " " + text.Printable(Value(v))}
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
	value := Scalar(v)
	if y.Fold {
		value = Shorten(value)
	}
	return []string{head + " " + value}
}

func (y YAMLLines) container(head string, v any, flush bool) []string {
	lines := y.nested(v)
	if head == "-" { // - a: 1
		for i := range lines {
			if i > 0 && lines[i] != "" {
				lines[i] = Indent + lines[i]
			}
		}
		lines[0] = "- " + lines[0]
		return lines
	}
	out := []string{head}
	for _, line := range lines {
		if !flush && line != "" {
			line = Indent + line
		}
		out = append(out, line)
	}
	return out
}

func (y YAMLLines) nested(v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = append(out, y.Value(Scalar(name)+":", v[name], true)...)
		}
	case []any:
		for _, item := range v {
			out = append(out, y.Value("-", item, false)...)
		}
	}
	return out
}

func (y YAMLLines) folded(lines []string) []string {
	if !y.Fold || len(lines) <= longestText+1 {
		return lines
	}
	more := len(lines) - longestText
	return append(slices.Clip(lines[:longestText]), fmt.Sprintf("%s%s (+%s)", Indent, text.Ellipsis, text.Count(more, "line")))
}

// Scalar formats a scalar, or an empty map or list, on one line. Strings that are unsafe for a
// terminal, or that YAML would wrap, are quoted as in Go, whose escapes are valid in YAML.
func Scalar(v any) string {
	out, err := yaml.Marshal(v)
	line := strings.TrimSuffix(string(out), "\n")
	switch s, isText := v.(string); {
	case isText && (s != text.Printable(s) || strings.Contains(line, "\n")):
		return strconv.Quote(s)
	case err != nil: // It is not from a cluster.
		return strconv.Quote(fmt.Sprint(v))
	default:
		return line
	}
}

// block formats a multi-line string as a YAML block scalar. It returns false if the string would
// need escapes, which block scalars do not have.
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
		head += strconv.Itoa(len(Indent))
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
			line = Indent + line
		}
		out = append(out, line)
	}
	for range max(0, end-1) {
		out = append(out, "")
	}
	return out, true
}
