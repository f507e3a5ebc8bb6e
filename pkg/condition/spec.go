package condition

import (
	"strings"
	"unicode/utf8"
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
	// Expression is what of Text is CEL or JSONPath, the latter as {.path}.
	Expression string
	// Type is the type of the status condition.
	Type string
	// Value is what the status condition, or what the JSONPath finds, has to be;
	// for JSONPath only if HasValue.
	Value    string
	HasValue bool
	// offset is the number of characters of Text before Expression.
	offset int
}

// forms is what the hint of an unreadable condition says.
const forms = "write ready, create, delete, condition=TYPE[=STATUS], jsonpath='{.path}'[=VALUE] or a CEL expression over self"

// Parse reads one --for or --fail-on. Text that no known word starts is CEL. The
// error is a *[CompileError].
func Parse(text string) (Spec, error) {
	s := Spec{Text: text}
	trimmed := strings.TrimSpace(text)
	switch word := Kind(strings.ToLower(trimmed)); word {
	case "":
		return s, &CompileError{Spec: s, Message: "says nothing to wait for", Meant: forms}
	case Ready, Create, Delete:
		s.Kind = word
		return s, nil
	case CEL, Status, JSONPath:
		return s, &CompileError{Spec: s, Message: "ends after its first word", Meant: forms}
	}
	kind, rest, found := strings.Cut(text, "=")
	if found {
		switch word := Kind(strings.ToLower(strings.TrimSpace(kind))); word {
		case CEL:
			s.Kind, s.Expression = CEL, rest
			s.offset = utf8.RuneCountInString(kind) + 1
			return s, s.needExpression()
		case Status:
			s.Kind = Status
			return parseStatus(s, rest)
		case JSONPath:
			s.Kind = JSONPath
			s.offset = utf8.RuneCountInString(kind) + 1
			return parseJSONPath(s, rest)
		}
	}
	s.Kind, s.Expression = CEL, text
	return s, nil
}

func (s Spec) needExpression() error {
	if strings.TrimSpace(s.Expression) == "" {
		return &CompileError{Spec: s, Message: "the expression is missing", Meant: forms}
	}
	return nil
}

// parseStatus reads TYPE[=STATUS]. As in kubectl, the status is True unless
// something else is said, and what follows the second = is all status.
func parseStatus(s Spec, text string) (Spec, error) {
	kind, status, found := strings.Cut(text, "=")
	s.Type, s.Value = strings.TrimSpace(kind), "True"
	if found {
		s.Value = strings.TrimSpace(status)
	}
	if s.Type == "" || s.Value == "" {
		return s, &CompileError{Spec: s, Message: "the type or the status is missing", Meant: "write condition=TYPE or condition=TYPE=STATUS, such as condition=Ready=False"}
	}
	return s, nil
}
