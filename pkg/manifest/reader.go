package manifest

import (
	"slices"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// found is an object with its warning and its faults.
type found struct {
	object.Manifest
	warning string
}

// reader extracts the objects of one document.
type reader struct {
	*document
	secrets Secrets
	// subject is the current object, as far as its name is known.
	subject string
	objects []found
	faults  []error
}

func (r *reader) fault(path []any, text, hint string) {
	if r.subject != "" {
		text = r.subject + ": " + text
	}
	r.faults = append(r.faults, at(r.lineOf(path), text, hint))
}

// under returns the path one step further down, in an array of its own.
func under(path []any, steps ...any) []any {
	return append(slices.Clip(path), steps...)
}

// typeName names the type of a value in the words of a message.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "true or false"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	}
	return "a mapping"
}
