package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
	"sigs.k8s.io/yaml/kyaml"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// YAML returns a value as YAML that is safe for a terminal. The library leaves some unsafe
// characters unescaped, such as direction marks; for documents that contain them, YAML uses
// [YAMLLines].
func YAML(v any) ([]byte, error) {
	text, err := JSON(v, "")
	if err != nil {
		return nil, err
	}
	// The library does not support surrogate pairs.
	if out, err := yaml.JSONToYAML(text); err == nil && !bytes.ContainsFunc(out, unfit) {
		return out, nil
	}
	var read any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		return nil, err
	}
	return []byte(strings.Join(YAMLLines{}.nested(read), "\n") + "\n"), nil
}

// KYAML returns a value as KYAML that is safe for a terminal.
func KYAML(v any) ([]byte, error) {
	spell := func(b []byte, r rune) []byte {
		if r > 0xffff { // YAML does not support surrogate pairs.
			return fmt.Appendf(b, `\U%08x`, r)
		}
		return fmt.Appendf(b, `\u%04x`, r)
	}
	text, err := rawJSON(v, "")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := (&kyaml.Encoder{}).FromYAML(bytes.NewReader(escapeQuoted(text, spell)), &out); err != nil {
		return nil, err
	}
	made := escapeQuoted(out.Bytes(), spell)
	if saysTheSame(made, text) {
		return made, nil
	}
	// The library wraps strings. It also writes a string incorrectly if one of its lines begins
	// with unusual white space, as the empty lines of a Windows file do. In these cases, write JSON
	// instead, which is valid YAML.
	if text, err = rawJSON(v, "  "); err != nil {
		return nil, err
	}
	return append([]byte("---\n"), escapeQuoted(text, spell)...), nil
}

func saysTheSame(made, text []byte) bool {
	var got, want any
	if err := yaml.Unmarshal(made, &got); err != nil {
		return false
	}
	return json.Unmarshal(text, &want) == nil && reflect.DeepEqual(got, want)
}

func unfit(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }

// JSON returns a value as JSON that is safe for a terminal, with a final line break.
func JSON(v any, indent string) ([]byte, error) {
	text, err := rawJSON(v, indent)
	if err != nil {
		return nil, err
	}
	return escapeQuoted(text, func(b []byte, r rune) []byte {
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
		return b
	}), nil
}

func rawJSON(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// escapeQuoted escapes unprintable characters. In the given text, such characters may occur only
// inside double quotes.
func escapeQuoted(text []byte, spell func([]byte, rune) []byte) []byte {
	plain := func(r rune) bool { return r == '\n' || strconv.IsPrint(r) }
	if !bytes.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	var escaped []byte
	for _, r := range string(text) {
		if plain(r) {
			escaped = utf8.AppendRune(escaped, r)
			continue
		}
		escaped = spell(escaped, r)
	}
	return escaped
}

// YAMLLines formats values as lines of YAML, with each scalar on a line of its own and not wrapped.
type YAMLLines struct {
	// Fold shortens multi-line values. The result is not valid YAML.
	Fold bool
}

const longestText = 4

// Indent is the indentation of one YAML level.
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

// Scalar formats a scalar, or an empty map or list, on one line. A string that is unsafe for a
// terminal, or that YAML would wrap, is quoted as in Go, whose escapes are valid in YAML.
func Scalar(v any) string {
	out, err := yaml.Marshal(v)
	line := strings.TrimSuffix(string(out), "\n")
	switch s, isText := v.(string); {
	case isText && (s != text.Printable(s) || strings.Contains(line, "\n")):
		return strconv.Quote(s)
	case err != nil: // A value from a cluster never causes an error.
		return strconv.Quote(fmt.Sprint(v))
	default:
		return line
	}
}

// block formats a string as a YAML block scalar. It returns false if the string would need escapes.
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
