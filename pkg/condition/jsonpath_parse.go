package condition

import (
	"strings"
	"unicode/utf8"
)

// jsonPathForm is the hint of what is no JSONPath.
const jsonPathForm = "write jsonpath='{.status.phase}' or jsonpath='{.status.phase}'=Bound"

// parseJSONPath reads PATH[=VALUE]. The path may be written as kubectl takes it:
// with or without braces, with or without its first dot. Unlike kubectl, an =
// inside of braces, brackets or quotes belongs to the path.
func parseJSONPath(s Spec, text string) (Spec, error) {
	path, value, found := cutOutside(text)
	inner := strings.TrimSpace(path)
	if rest, braced := strings.CutPrefix(inner, "{"); braced {
		rest, closed := strings.CutSuffix(rest, "}")
		if !closed {
			return s, &CompileError{Spec: s, Message: "the closing brace is missing", Meant: jsonPathForm}
		}
		inner = strings.TrimSpace(rest)
	}
	if strings.ContainsAny(inner, "{}") {
		return s, &CompileError{Spec: s, Message: "a JSONPath to wait for is one path in braces", Meant: jsonPathForm}
	}
	inner = strings.TrimPrefix(inner, "$")
	if inner == "" || inner == "." {
		return s, &CompileError{Spec: s, Message: "the path is missing", Meant: jsonPathForm}
	}
	// What is cut off or added in front moves columns; they are told from the
	// start of the path.
	s.offset += utf8.RuneCountInString(text[:strings.Index(text, inner)])
	if !strings.HasPrefix(inner, ".") && !strings.HasPrefix(inner, "[") {
		inner = "." + inner
		s.offset--
	}
	s.Expression = "{" + inner + "}"
	s.offset--
	if !found {
		return s, nil
	}
	s.Value, s.HasValue = strings.Trim(strings.TrimSpace(value), `'"`), true
	if s.Value == "" {
		return s, &CompileError{Spec: s, Message: "the value after = is missing", Meant: jsonPathForm}
	}
	return s, nil
}

// cutOutside cuts at the first = that no brace, bracket or quote encloses, and
// that is not one of two.
func cutOutside(text string) (before, after string, found bool) {
	depth := 0
	var quote byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '\'' || c == '"') && depth > 0:
			quote = c
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			depth--
		case c == '=' && depth <= 0:
			if i+1 < len(text) && text[i+1] == '=' {
				i++
				continue
			}
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}
