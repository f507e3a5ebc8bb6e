package manifest

import (
	"errors"
	"io/fs"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// inputError is one fault of the input: where it is, what it is, and how to correct
// it.
type inputError struct {
	where string
	line  int // the line that where names, if any
	text  string
	hint  string
	err   error
}

func (e *inputError) Error() string {
	text := e.text
	if e.err != nil {
		text += e.err.Error()
	}
	if e.where == "" {
		return text
	}
	return e.where + ": " + text
}

// Hint says what to do about it; it may be empty.
func (e *inputError) Hint() string { return e.hint }

func (e *inputError) Unwrap() error { return e.err }

// at returns the fault of a place in a file.
func at(s object.Source, text, hint string) *inputError {
	return &inputError{where: s.String(), line: s.Line, text: text, hint: hint}
}

// unreadable is the fault of a whole input. The operating system's error names the
// file a second time, so only its cause is kept.
func unreadable(name string, err error) error {
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		err = onPath.Err
	}
	return &inputError{where: name, err: err}
}
