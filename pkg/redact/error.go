package redact

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Error returns err with a text that quotes no value of the Secret that it is
// about; err itself, for what branches on it, stays below. Of any other object
// the error is returned as it is.
func Error(u *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	text := Text(u, err.Error())
	if text == err.Error() {
		return err
	}
	return &maskedError{err: err, text: text}
}

type maskedError struct {
	err  error
	text string
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.err }
