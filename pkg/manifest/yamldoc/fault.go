package yamldoc

import "github.com/k8sconnect/kubectl-k8sconnect/pkg/object"

// FaultError is one fault at a place of the input: what it is, in one line, and how to correct it.
type FaultError struct {
	Source object.Source

	text, hint string
}

// At returns the fault of a place; the hint may be empty.
func At(s object.Source, text, hint string) *FaultError {
	return &FaultError{Source: s, text: text, hint: hint}
}

func (f *FaultError) Error() string {
	if where := f.Source.String(); where != "" {
		return where + ": " + f.text
	}
	return f.text
}

// Hint says what to do about it; it may be empty.
func (f *FaultError) Hint() string { return f.hint }
