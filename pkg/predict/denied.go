package predict

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// Permissions reports what we may do.
type Permissions interface {
	// Permitted reports whether we may use the verb on the object.
	Permitted(ctx context.Context, kind object.Kind, ref object.Ref, verb string) (bool, error)
}

// DeniedError says that we lack a permission.
type DeniedError struct {
	Err error
	// Verb that is denied; empty if that could not be found out.
	Verb string
	Item plan.Item
}

func (e *DeniedError) Error() string { return e.Err.Error() }

// Unwrap returns the server's error.
func (e *DeniedError) Unwrap() error { return e.Err }

// Hint gives the command that checks the permission.
func (e *DeniedError) Hint() string {
	words := []string{"see: " + command.Kubectl("auth", "can-i"), e.Verb, e.Item.Kind.GVR().GroupResource().String()}
	if e.Verb == "" {
		words = []string{"see: " + command.Kubectl("auth", "can-i"), "--list"}
	}
	if e.Item.Namespace != "" {
		words = append(words, "-n", e.Item.Namespace)
	}
	return strings.Join(words, " ")
}

// DeniedRead is [Denied] for an error of reading the item: only a missing permission
// forbids a read.
func DeniedRead(item plan.Item, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	return &DeniedError{Err: err, Verb: "get", Item: item}
}

// Denied returns a *DeniedError if err says that we lack a permission for an apply of the
// item, and err as it is otherwise. Quotas and admission refuse with the same code, so the
// server is asked whether we have the permission.
func Denied(ctx context.Context, server Permissions, item plan.Item, err error) error {
	if !apierrors.IsForbidden(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		errors.As(err, new(*DeniedError)) {
		return err
	}
	// An apply is a patch, and a create if there is nothing to patch. The object is also
	// read again after another write came in between.
	for _, verb := range []string{"patch", "create", "get"} {
		permitted, askErr := server.Permitted(ctx, item.Kind, item.Ref, verb)
		if askErr != nil {
			return &DeniedError{Err: err, Item: item}
		}
		if !permitted {
			return &DeniedError{Err: err, Verb: verb, Item: item}
		}
	}
	return err
}
