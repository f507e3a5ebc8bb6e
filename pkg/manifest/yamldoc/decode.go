package yamldoc

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
	"sigs.k8s.io/json"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Decode returns the value in the types of apimachinery's JSON decoder: maps, lists, strings,
// bools, nil, int64 and float64. It returns nil for an empty document. Each error is an
// [*object.FaultError].
func (d *Document) Decode() (any, []error) {
	if !d.IsJSON() {
		return d.decodeYAML()
	}
	var value any
	duplicates, err := json.UnmarshalStrict(d.Text, &value)
	if err == nil && (d.Lenient || len(duplicates) == 0) {
		return value, nil
	}
	if err == nil {
		if faults := d.keyFaults(); len(faults) > 0 {
			return nil, faults
		}
		return nil, []error{At(d.Source(), duplicates[0].Error(), "")}
	}
	isSyntax, offset := json.SyntaxErrorOffset(err)
	if !isSyntax { // The decoder's error would quote the number.
		return nil, []error{At(d.Source(), "a number is too large for JSON", "quote it if it is text")}
	}
	value, faults := d.decodeYAML()
	if len(faults) > 0 && d.quotesKeys() {
		line := bytes.Count(d.Text[:min(int(offset), len(d.Text))], []byte("\n"))
		return nil, []error{At(d.lineBelow(line), "not JSON: "+err.Error(), "")}
	}
	return value, faults
}

// If its first key is quoted, the text is probably JSON rather than YAML in flow style.
func (d *Document) quotesKeys() bool {
	rest := bytes.TrimLeft(d.Text, " \t\r\n{")
	return len(rest) > 0 && rest[0] == '"'
}

// decodeYAML reads YAML 1.1 with yaml/v2, like kubectl. Unlike kubectl, it rejects text after
// the value and, unless the document is lenient, duplicate and boolean keys.
func (d *Document) decodeYAML() (any, []error) {
	if err := d.Aliases.Admit(d); err != nil {
		return nil, []error{err}
	}
	var value any
	decoder := yaml.NewDecoder(bytes.NewReader(d.Text))
	decoder.SetStrict(!d.Lenient)
	err := decoder.Decode(&value)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		if faults := d.keyFaults(); len(faults) > 0 {
			return nil, faults
		}
	}
	var duplicate *yaml.TypeError
	if errors.As(err, &duplicate) && d.mergesKeys() {
		// With merge keys, the error may be a false alarm: yaml/v2 also reports a key that
		// overrides a merged key, which is valid. So decode again without strict mode.
		value = nil
		decoder = yaml.NewDecoder(bytes.NewReader(d.Text))
		err = decoder.Decode(&value)
	}
	if err != nil {
		return nil, []error{d.syntaxFault(err)}
	}
	var rest any
	if err := decoder.Decode(&rest); !errors.Is(err, io.EOF) {
		return nil, []error{At(d.lineBelow(max(yamlLine(err), 1)-1),
			"text after the end of the object that begins at line "+strconv.Itoa(max(d.Line, 1)),
			"start all top-level lines of an object in the same column; separate objects with ---")}
	}
	var c converter
	value, fault := c.toJSON(value)
	if fault != nil {
		return nil, []error{At(d.SourceOf(fault.path), fault.Error(), fault.hint)}
	}
	if c.booleanKeys && !d.Lenient {
		if faults := d.booleanKeys(); len(faults) > 0 {
			return nil, faults
		}
	}
	return value, nil
}

func (d *Document) syntaxFault(err error) error {
	text, hint := wording(err)
	line := max(yamlLine(err), d.aliasLine(err), 1)
	if line == 1 {
		line = max(d.tagLine(), 1)
	}
	switch text {
	case "could not find expected ':'": // The parser reports this fault on a line after the key's.
		for lines := bytes.Split(d.Text, []byte("\n")); line > 1; {
			if line--; line <= len(lines) && len(bytes.TrimSpace(lines[line-1])) > 0 {
				break
			}
		}
	case endOfStream:
		line = d.openQuote(line)
	}
	if lines := bytes.SplitN(d.Text, []byte("\n"), line+1); line <= len(lines) {
		here := lines[line-1]
		indent := here[:len(here)-len(bytes.TrimLeft(here, " \t"))]
		if bytes.ContainsRune(indent, '\t') {
			hint = "the line is indented with a tab; YAML allows only spaces"
		}
	}
	return At(d.lineBelow(line-1), "not YAML: "+text, hint)
}

const endOfStream = "found unexpected end of stream"

// openQuote returns the line on which an unclosed quote begins, because the scanner reports it only
// at the end of the text. openQuote removes lines from the end until the remaining text no longer
// ends inside a quote. The quote begins on the last line removed.
func (d *Document) openQuote(line int) int {
	const most = 16 << 10 // Every prefix is parsed, which takes time.
	lines := bytes.SplitAfter(d.Text, []byte("\n"))
	at := len(lines)
	for at > 0 && len(d.Text) <= most {
		var value any
		if err := yaml.Unmarshal(bytes.Join(lines[:at], nil), &value); err == nil || !strings.HasSuffix(err.Error(), endOfStream) {
			break
		}
		at--
	}
	return min(line, at+1)
}

// wording returns the text of a yaml/v2 error without quoted values, because a value that begins
// with * or ! may be a password. The library has no error types. The errors below are the only ones
// in which it quotes values.
func wording(err error) (message, hint string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if _, after, found := strings.Cut(message, ": "); found && strings.HasPrefix(message, "line ") {
		message = after
	}
	switch {
	case strings.HasPrefix(message, "unknown anchor "):
		return "an alias (*) to an anchor that does not exist", "quote text that begins with *"
	case strings.HasPrefix(message, "anchor "):
		return "an anchor whose value contains itself", "quote text that begins with * or &"
	case strings.HasPrefix(message, "cannot decode "):
		return "a value does not match its tag (!!)", "quote text that begins with !"
	case strings.HasPrefix(message, "invalid map key"):
		return "a mapping or a list as a key", "quote values that begin with { or ["
	}
	return text.OneLine(message), ""
}

// In yaml/v2, the parser counts lines from 0 and the scanner from 1.
func yamlLine(err error) int {
	if err == nil {
		return 0
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if number, rest, found := strings.Cut(strings.TrimPrefix(text, "line "), ": "); found {
		if n, convErr := strconv.Atoi(number); convErr == nil {
			line, text = n, rest
		}
	}
	if isParserError(text) {
		line++
	}
	return line
}

func isParserError(text string) bool {
	switch strings.TrimPrefix(text, "did not find expected ") {
	case "<stream-start>", "<document start>", "node content", "'-' indicator", "key", "',' or ']'", "',' or '}'",
		"found undefined tag handle", "found duplicate %YAML directive", "found duplicate %TAG directive",
		"found incompatible YAML document":
		return true
	}
	return false
}

func (d *Document) aliasLine(err error) int {
	_, name, isAlias := strings.Cut(err.Error(), "unknown anchor '")
	name, _, quoted := strings.Cut(name, "'")
	before, _, found := bytes.Cut(d.Text, []byte("*"+name))
	if !isAlias || !quoted || !found {
		return 0
	}
	return 1 + bytes.Count(before, []byte("\n"))
}

// At returns a fault with the given place. The hint may be empty.
func At(s object.Source, text, hint string) *object.FaultError {
	return &object.FaultError{Source: s, Text: text, Advice: hint}
}
