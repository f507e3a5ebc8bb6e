package condition

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// parseJSONPath reads what follows "jsonpath=": a template in braces, which may
// hold "=" itself, or a path without them.
func parseJSONPath(typed, trimmed, rest string) (Spec, error) {
	s := Spec{Kind: JSONPath, Text: trimmed}
	hint := "such as --for=jsonpath='{.status.phase}'=Running"
	rest = unquoted(rest)
	end := endOfPath(rest)
	if end <= 0 || unquoted(rest[:end]) == "" {
		return Spec{}, &specError{typed, "the path is missing, or its brackets do not match", hint}
	}
	s.Expression = template(unquoted(rest[:end]))
	switch value := rest[end:]; {
	case value == "":
	case value[0] == '=' && len(value) > 1:
		s.Value, s.HasValue = unquoted(value[1:]), true
	default:
		return Spec{}, &specError{typed, "after the path comes =VALUE", hint}
	}
	if _, err := parsePath(s.Expression); err != nil {
		return Spec{}, &specError{typed, text.OneLine(err.Error()), hint}
	}
	return s, nil
}

// endOfPath returns where the path ends and its value begins; less than 0 where a
// bracket or a quote is not closed.
func endOfPath(text string) int {
	var open []rune
	var quote rune
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '\'' || r == '"':
			quote = r
		case strings.ContainsRune("{[(", r):
			open = append(open, r)
		case strings.ContainsRune("}])", r):
			if len(open) == 0 {
				return -1
			}
			if open = open[:len(open)-1]; len(open) == 0 && r == '}' {
				return i + 1
			}
		case r == '=' && len(open) == 0:
			return i
		}
	}
	if quote != 0 || len(open) > 0 {
		return -1
	}
	return len(text)
}

// unquoted takes off quotes that no shell has taken off.
func unquoted(text string) string {
	if len(text) > 1 && (text[0] == '\'' || text[0] == '"') && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	return text
}

// template completes a path as kubectl does: x.y, .x.y, {x.y} and {.x.y} are one.
func template(path string) string {
	inner := strings.TrimSpace(path)
	if strings.HasPrefix(inner, "{") && strings.HasSuffix(inner, "}") {
		inner = strings.TrimSpace(inner[1 : len(inner)-1])
	}
	if !strings.HasPrefix(inner, ".") && !strings.HasPrefix(inner, "[") && !strings.HasPrefix(inner, "$") && !strings.HasPrefix(inner, "@") {
		inner = "." + inner
	}
	return "{" + inner + "}"
}
