package manifest

import (
	"os"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest/yamldoc"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// reading is how the documents of an input are read.
type reading struct {
	secrets  Secrets
	selector labels.Selector
	// asIs: what a server wrote stays.
	asIs bool
}

// found is an object with its warning, and what its labels and annotations say.
type found struct {
	object.Manifest
	warning string
	// unmatched: the selector does not match it.
	unmatched bool
	// hook is the hook that it is; nil if it is none.
	hook *Hook
}

// reader extracts the objects of one document.
type reader struct {
	*yamldoc.Document
	*reading
	// subject is the current object, as far as its name is known.
	subject string
	found   []found
	faults  []error
}

func (r *reader) fault(path []any, text, hint string) {
	r.faults = append(r.faults, &object.FaultError{Source: r.SourceOf(path), Subject: r.subject, Text: text, Advice: hint})
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

// Locate finds a field of an object in the file that the object was read from: its place
// and, for an unquoted scalar, its spelling there. steps are keys and positions from the
// top of the object. If the file is gone, or the input has no lines, Locate returns the
// source as it was.
func Locate(at object.Source, steps []any) (object.Source, string) {
	info, err := os.Stat(at.File)
	if at.Line == 0 || err != nil || !info.Mode().IsRegular() {
		return at, ""
	}
	raw, err := os.ReadFile(at.File)
	if err != nil {
		return at, ""
	}
	text, err := toUTF8(at.File, raw)
	if err != nil {
		return at, ""
	}
	var d *yamldoc.Document
	for _, candidate := range yamldoc.Split(at.File, text) {
		if candidate.Line <= at.Line {
			d = candidate
		}
	}
	if d == nil {
		return at, ""
	}
	return d.Find(at, steps)
}
