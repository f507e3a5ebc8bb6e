package transfer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

var (
	// ErrUnmanaged means that an object has no managed fields, so no field has an owner.
	ErrUnmanaged = object.Hinted("the managed fields were cleared, so the next apply will conflict with before-first-apply over every difference; "+
		"if the receiver's manifest is known (-f, --helm-release), --from=before-first-apply gives the receiver the fields in that manifest",
		"it has no managed fields, so no field has an owner")
	// ErrLast means that no field would have an owner after the transfer. The API server would then
	// attribute all fields to before-first-apply, and each apply would conflict with that manager.
	ErrLast = object.Hinted("at the next apply, the server would assign all fields to before-first-apply; "+
		"give the fields to a manager, with --to, so that they have an owner",
		"none of its fields would have an owner")
)

// NotOwnedError means that the givers do not own a path.
type NotOwnedError struct {
	Path   fieldpath.Path
	From   []string
	Owners []managedfields.Owner
}

func (e *NotOwnedError) Error() string {
	switch {
	case len(e.Owners) == 0:
		return fmt.Sprintf("%s has no owner", e.Path)
	case len(e.From) == 0:
		return fmt.Sprintf("%s cannot be given away by %s", e.Path, list(e.Owners))
	}
	return fmt.Sprintf("%s does not own %s: %s", strings.Join(e.From, " or "), e.Path, owns(e.Owners))
}

func (e *NotOwnedError) Hint() string {
	if len(e.Owners) == 0 {
		return "the next manager to apply it will own it, without a conflict"
	}
	return ""
}

// NothingError means that the givers own no fields.
type NothingError struct {
	From, Managers []string
}

func (e *NothingError) Error() string {
	return fmt.Sprintf("%s owns none of its fields", strings.Join(text.AllWithSuggestions(e.From, e.Managers), " or "))
}

func (e *NothingError) Hint() string {
	return "its owners: " + strings.Join(e.Managers, ", ")
}

// Missing reports whether an error means only that the givers do not own the requested fields.
func Missing(err error) bool {
	var nothing *NothingError
	var notOwned *NotOwnedError
	return errors.As(err, &nothing) || errors.As(err, &notOwned)
}

func list(owners []managedfields.Owner) string {
	names := make([]string, len(owners))
	for i, o := range owners {
		names[i] = o.String()
	}
	return strings.Join(names, ", ")
}

func owns(owners []managedfields.Owner) string {
	if len(owners) == 1 {
		return owners[0].String() + " does"
	}
	return list(owners) + " do"
}
