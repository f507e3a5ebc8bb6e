package redact

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Error returns an error about an object with the object's secret values masked
// in its text. It is the error itself where there is nothing to mask; otherwise
// the error is wrapped, so that its type and its reason can still be told.
func Error(u *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	text := Text(u, err.Error())
	if text == err.Error() {
		return err
	}
	return &maskedError{text: text, err: err}
}

type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }

// Unwrap returns the error as it was. Its text is not to be shown.
func (e *maskedError) Unwrap() error { return e.err }
