package transfer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/fieldpath"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/managedfields"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// ErrUnmanaged says that an object has no managed fields, so that nothing in it has an owner.
var ErrUnmanaged error = unmanagedError{}

// ErrLast says that nothing in an object would have an owner any more. The API server would then
// attribute all of it to before-first-apply, and each apply would conflict with that.
var ErrLast error = lastError{}

type lastError struct{}

func (lastError) Error() string { return "it would have no owner left" }

func (lastError) Hint() string {
	return "the server assigns an object without managed fields to before-first-apply at the next apply; " +
		"give the fields to a manager, with --to, so that they have an owner"
}

type unmanagedError struct{}

func (unmanagedError) Error() string { return "it has no managed fields, so no field has an owner" }

func (unmanagedError) Hint() string {
	return "the managed fields were cleared, so the next apply conflicts with before-first-apply over every difference; " +
		"where the receiver's manifest is known (-f, --helm-release), --from=before-first-apply gives it what it states"
}

// SharedError says that several managers own a path, and the wish does not say whose part to give
// away.
type SharedError struct {
	Path   fieldpath.Path
	Owners []managedfields.Owner
	// Released: the path is to be released.
	Released bool
}

func (e *SharedError) Error() string {
	return fmt.Sprintf("%s has several owners: %s", e.Path, list(e.Owners))
}

func (e *SharedError) Hint() string {
	if e.Released {
		return "name those that are to lose it with --from"
	}
	return "name those that are to lose it with --from, or add an owner with --share"
}

// WholeError says that a path is a part of a value that is owned as one.
type WholeError struct {
	Path, Whole fieldpath.Path
	Owners      []managedfields.Owner
}

func (e *WholeError) Error() string {
	return fmt.Sprintf("%s is owned as one value by %s, and %s is only a part of it", e.Whole, list(e.Owners), e.Path)
}

func (e *WholeError) Hint() string { return fmt.Sprintf("give %s", e.Whole) }

// NotOwnedError says that the givers do not own a path.
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
		return "whoever applies it next owns it, without a conflict"
	}
	return ""
}

// NothingError says that the givers own no fields.
type NothingError struct {
	From, Managers []string
}

func (e *NothingError) Error() string {
	return fmt.Sprintf("%s owns nothing of it", strings.Join(text.AllWithMeant(e.From, e.Managers), " or "))
}

// Hint names the managers that own something.
func (e *NothingError) Hint() string {
	return "its owners: " + strings.Join(e.Managers, ", ")
}

// StrangerError says that the receiver has no entry that shows how it writes.
type StrangerError struct {
	Manager  string
	Managers []string
}

func (e *StrangerError) Error() string {
	return fmt.Sprintf("%q owns nothing of it yet, so it is unknown how it writes", e.Manager)
}

func (e *StrangerError) Hint() string {
	return "--as-operation=apply if it uses server-side apply: its next apply removes what it does not state; " +
		"--as-operation=update if not. Known to this object: " + strings.Join(e.Managers, ", ")
}

// ReceiverError says that a manager cannot receive anything.
type ReceiverError struct{ Manager, Why string }

func (e *ReceiverError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the receiving manager %s %s", e.Manager, e.Why))
}

// StatusError says that a path belongs to the status.
type StatusError struct{ Path fieldpath.Path }

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s belongs to the status, which its controller writes through a subresource", e.Path)
}

// IdentityError says that a path cannot have an owner.
type IdentityError struct{ Path fieldpath.Path }

func (e *IdentityError) Error() string {
	return fmt.Sprintf("%s is part of the object's identity, which has no owner", e.Path)
}

// Missing reports whether an error says only that the givers own nothing.
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
