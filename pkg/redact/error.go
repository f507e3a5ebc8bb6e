package redact

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Error returns err with a text that quotes no value of the Secret that it is about;
// err itself stays below, for callers that branch on it. An error about any other
// object is returned as it is.
func Error(u *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	text := Text(u, err.Error())
	if text == err.Error() {
		return err
	}
	return &maskedError{about: u, err: err, text: text}
}

// Refusal is for a server's answer about an object of which only the name is known, so
// that its quotes cannot be recognized: for a Secret only the code remains, or that it
// does not exist, in our own words. The error is not kept below, where a printer might
// look for it.
func Refusal(ref object.Ref, err error) error {
	var status apierrors.APIStatus
	if !IsSecret(ref) || !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	if s.Reason == metav1.StatusReasonNotFound {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, ref.Name)
	}
	return errors.New(strings.TrimSpace(fmt.Sprintf("the server answered %d %s", s.Code, s.Reason)))
}

type maskedError struct {
	about *unstructured.Unstructured
	err   error
	text  string
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.err }

// Of returns what the error says of several objects at once, if it can, without the
// values of this one.
func (e *maskedError) Of(objects int) error {
	many := several(e.err, objects)
	if many == nil {
		return e
	}
	return Error(e.about, many)
}

// several returns an error that can speak of several objects at once; nil if it cannot.
func several(err error, objects int) error {
	common, ok := errors.AsType[interface {
		error
		Of(objects int) error
	}](err)
	if !ok {
		return nil
	}
	return common.Of(objects)
}
