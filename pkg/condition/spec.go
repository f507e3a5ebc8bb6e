package condition

import (
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// Kind is a way to say what is waited for.
type Kind string

// The kinds of conditions, as --for names them.
const (
	// Ready is the verdict on the object as a whole: docs/readiness.md.
	Ready Kind = "ready"
	// CEL is an expression over self, the object.
	CEL Kind = "cel"
	// Status is condition=TYPE[=STATUS]: one of status.conditions.
	Status Kind = "condition"
	// JSONPath is jsonpath={…}[=VALUE], as kubectl means it.
	JSONPath Kind = "jsonpath"
	// Create is met when the object exists.
	Create Kind = "create"
	// Delete is met when the object does not exist.
	Delete Kind = "delete"
)

// Spec is one --for or --fail-on as it was typed.
type Spec struct {
	Kind Kind
	// Text is what was typed, as a report shows it.
	Text string
	// Expression is what of Text is CEL or JSONPath.
	Expression string
	// Type is the type of the status condition.
	Type string
	// Value is what the status condition, or what the JSONPath finds, has to be;
	// for JSONPath only if HasValue.
	Value    string
	HasValue bool
	// Rules are what is stated of kinds, for Ready; nil is the table of the program alone.
	Rules *Rules
	// Once: nobody waits, so that Ready takes what has lasted for what it is.
	Once bool
}

// specError is a text that says no condition.
type specError struct{ text, message, hint string }

func (e *specError) Error() string { return fmt.Sprintf("%q: %s", e.text, e.message) }
func (e *specError) Hint() string  { return e.hint }

// Parse reads one --for or --fail-on. A text that none of the known words starts
// is CEL. Errors have a Hint.
func Parse(text string) (Spec, error) {
	trimmed := strings.TrimSpace(text)
	word, rest, valued := strings.Cut(trimmed, "=")
	switch kind := Kind(word); kind {
	case Ready, Create, Delete:
		if valued && !strings.HasPrefix(rest, "=") {
			return Spec{}, &specError{text, word + " takes no value", "write --for=" + word}
		}
		if !valued {
			return Spec{Kind: kind, Text: trimmed}, nil
		}
	case CEL:
		if valued && !strings.HasPrefix(rest, "=") {
			return parseCEL(text, trimmed, rest)
		}
	case Status:
		if valued && !strings.HasPrefix(rest, "=") {
			return parseStatus(text, trimmed, rest)
		}
	case JSONPath:
		if valued && !strings.HasPrefix(rest, "=") {
			return parseJSONPath(text, trimmed, rest)
		}
	}
	if hint := slip(trimmed); hint != "" {
		return Spec{}, &specError{text, "this is no condition", hint}
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

// slip tells what a lone word was probably meant to be; empty for what may well be
// CEL.
func slip(typed string) string {
	word, _, _ := strings.Cut(typed, "=")
	if strings.ContainsAny(word, " .()[]!<>&|\"'") {
		return ""
	}
	words := []string{string(Ready), string(CEL), string(Status), string(JSONPath), string(Create), string(Delete)}
	meant := text.Nearest(word, words)
	switch {
	case meant == string(Ready), meant == string(Create), meant == string(Delete):
		return "did you mean " + meant + "?"
	case meant != "":
		return "did you mean " + meant + "=…?"
	case word == typed && word != "true" && word != "false" && word != "":
		return "write --for=condition=" + word + " for a status condition; an expression reads the object as self"
	default:
		return ""
	}
}
