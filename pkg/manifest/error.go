package manifest

import (
	"errors"
	"io/fs"
)

// inputError is one fault of an input as a whole: which it is, what is wrong with it, and how
// to correct it. Faults of places in it are of package yamldoc.
type inputError struct {
	where string
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

// unreadable is the fault of a whole input. The operating system's error names the
// file a second time, so only its cause is kept.
func unreadable(name string, err error) error {
	if onPath, ok := errors.AsType[*fs.PathError](err); ok {
		err = onPath.Err
	}
	return &inputError{where: name, err: err}
}
