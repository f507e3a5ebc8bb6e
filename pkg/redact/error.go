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
	return &maskedError{about: u, err: err, text: text}
}

// Refusal is for a server's answer about an object of which only the name is
// known, so that what it quotes cannot be told: of a Secret, nothing but the
// code remains, or that it is not there, in words of ours. The error is not kept below,
// where a printer may look for it.
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

// Of is what the error says of several objects at once, if it can, without the values
// of this one.
func (e *maskedError) Of(objects int) error {
	many := several(e.err, objects)
	if many == nil {
		return e
	}
	return Error(e.about, many)
}

// several asks an error to speak of several objects at once; nil if it cannot.
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
