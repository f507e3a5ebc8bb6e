package client

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// TooLargeError says that an object with the managed fields that were sent is larger than the API
// server stores. It does not refuse that: it stores the object without any managed fields.
type TooLargeError struct {
	Ref object.Ref
	// Lost is why the former ones could not be put back; nil if they were, so that nothing changed.
	Lost error
}

func (e *TooLargeError) Error() string {
	said := "with these managed fields the object is larger than the API server stores, so it kept none of any owner; "
	if e.Lost == nil {
		return said + "the former ones were put back"
	}
	return fmt.Sprintf("%sthe former ones could not be put back: %v", said, e.Lost)
}

// Hint says what to do.
func (e *TooLargeError) Hint() string {
	if e.Lost == nil {
		return "the more managers own a field, the larger is the object: move fields rather than share them, or fewer of them"
	}
	return "it has no owner left: the next apply conflicts with before-first-apply over every difference, and --force-conflicts or --take=all owns it again"
}

func (e *TooLargeError) Unwrap() error { return e.Lost }

// Status makes it the refusal that it is, where nothing changed.
func (e *TooLargeError) Status() metav1.Status {
	if e.Lost != nil {
		return metav1.Status{Status: metav1.StatusFailure}
	}
	return apierrors.NewRequestEntityTooLargeError(e.Error()).ErrStatus
}

// keptNone reports whether the API server dropped all managed fields that were sent.
func keptNone(answer *unstructured.Unstructured, sent []any) bool {
	return len(sent) > 0 && len(answer.GetManagedFields()) == 0
}

// putBack writes the managed fields that live had to an object that has lost all. Whoever wrote in
// between got none from the server, unless it applied: then the object has an owner again, and
// nothing is put back beside that.
func (c *Client) putBack(ctx context.Context, kind object.Kind, live, answer *unstructured.Unstructured, how object.Write) error {
	out := &TooLargeError{Ref: object.RefOf(live)}
	before, _, _ := unstructured.NestedSlice(live.Object, "metadata", "managedFields")
	if len(before) == 0 { // There is nothing to lose.
		return out
	}
	ctx = context.WithoutCancel(ctx) // Until then the object has no owners, so an interrupt waits for it.
	for attempts := retry.At(out.Ref); ; {
		attempts.Saw(answer)
		if !keptNone(answer, before) {
			out.Lost = errors.New("another client applied the object in between")
			return out
		}
		back, err := c.sendManagedFields(ctx, kind, answer, before, how)
		switch {
		case err == nil && keptNone(back, before):
			out.Lost = errors.New("with them, too, it is too large by now")
			return out
		case !apierrors.IsConflict(err):
			out.Lost = err
			return out
		}
		if out.Lost = attempts.Again(ctx); out.Lost != nil {
			return out
		}
		if answer, out.Lost = c.Get(ctx, kind, out.Ref); out.Lost != nil {
			return out
		}
	}
}
