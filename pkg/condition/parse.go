package condition

import (
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Parse parses the value of --for or --fail-on. A value without a known prefix is CEL. Each error
// has a Hint.
func Parse(text string) (Spec, error) {
	trimmed := strings.TrimSpace(text)
	word, rest, valued := strings.Cut(trimmed, "=")
	kind := Kind(word)
	simple := kind == Ready || kind == Create || kind == Delete
	switch {
	case strings.HasPrefix(rest, "="):
	case simple && valued:
		return Spec{}, &specError{text, word + " takes no value", "write --for=" + word}
	case simple:
		return Spec{Kind: kind, Text: trimmed}, nil
	case !valued:
	case kind == CEL:
		return parseCEL(text, trimmed, rest)
	case kind == Status:
		return parseStatus(text, trimmed, rest)
	case kind == JSONPath:
		return parseJSONPath(text, trimmed, rest)
	}
	if hint := typo(trimmed); hint != "" {
		return Spec{}, &specError{text, "this is not a condition", hint}
	}
	return parseCEL(text, trimmed, trimmed)
}

func parseCEL(text, trimmed, expression string) (Spec, error) {
	if strings.TrimSpace(expression) == "" {
		return Spec{}, &specError{text, "the expression is missing", "such as --for='self.status.readyReplicas == 3'"}
	}
	return Spec{Kind: CEL, Text: trimmed, Expression: expression}, nil
}

func parseStatus(text, trimmed, rest string) (Spec, error) {
	s := Spec{Kind: Status, Text: trimmed, Value: "True", HasValue: true}
	var valued bool
	s.Type, rest, valued = strings.Cut(rest, "=")
	if valued {
		s.Value = rest
	}
	if s.Type == "" || s.Value == "" {
		return Spec{}, &specError{text, "a type or a status is missing", "such as --for=condition=Available or --for=condition=Ready=False"}
	}
	return s, nil
}

func typo(typed string) string {
	word, _, _ := strings.Cut(typed, "=")
	if strings.ContainsAny(word, " .()[]!<>&|\"'") {
		return ""
	}
	words := []string{string(Ready), string(CEL), string(Status), string(JSONPath), string(Create), string(Delete)}
	intended := text.Nearest(word, words)
	switch {
	case intended == string(Ready), intended == string(Create), intended == string(Delete):
		return "did you mean " + intended + "?"
	case intended != "":
		return "did you mean " + intended + "=…?"
	case word == typed && word != "true" && word != "false" && word != "":
		return "for a status condition, write --for=condition=" + word + "; in an expression, the object is self"
	default:
		return ""
	}
}

// rest is a path, with or without braces, optionally followed by =VALUE. In braces, the path may
// contain "=".
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
		return Spec{}, &specError{typed, "only =VALUE may follow the path", hint}
	}
	if _, err := parsePath(s.Expression); err != nil {
		return Spec{}, &specError{typed, text.OneLine(err.Error()), hint}
	}
	return s, nil
}

// endOfPath returns the index at which the path ends and at which "=VALUE", if present, begins. The
// index is negative if a bracket or quote is not closed.
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

// The shell may have left the quotes in place.
func unquoted(text string) string {
	if len(text) > 1 && (text[0] == '\'' || text[0] == '"') && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	return text
}

// As in kubectl, x.y, .x.y, {x.y} and {.x.y} are equivalent.
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
