package condition

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/readiness"
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
	Rules *Set
	// Once: there is one look and no wait, so Ready takes a lasting fault at face value.
	Once bool
}

// specError is a text that says no condition.
type specError struct{ text, message, hint string }

func (e *specError) Error() string { return fmt.Sprintf("%q: %s", e.text, e.message) }

func (e *specError) Hint() string { return e.hint }

// NeedsSchema reports whether Compile can make use of the schema of a kind: where not, it need not
// be read. Readiness is built in for many kinds.
func (s Spec) NeedsSchema(gvk schema.GroupVersionKind) bool {
	switch s.Kind {
	case CEL, JSONPath:
		return true
	case Ready:
		return readiness.NeedsSchema(gvk)
	default:
		return false
	}
}
