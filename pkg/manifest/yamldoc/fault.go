package yamldoc

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/object"

// Fault is one fault at a place of the input. Its text is one line, and never quotes a value,
// which may be a password.
type Fault struct {
	Source object.Source

	text, hint string
}

// At returns the fault of a place; the hint may be empty.
func At(s object.Source, text, hint string) *Fault { return &Fault{Source: s, text: text, hint: hint} }

func (f *Fault) Error() string {
	if where := f.Source.String(); where != "" {
		return where + ": " + f.text
	}
	return f.text
}

// Hint says what to do about it; it may be empty.
func (f *Fault) Hint() string { return f.hint }
