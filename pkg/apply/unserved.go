package apply

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/plan"
)

// errUnchecked: the server cannot be asked about an object whose kind or
// namespace only this run would create.
var errUnchecked = errors.New("not checked by the server: its kind is defined by this set")

// unchecked says why the server was not asked about the item.
func unchecked(item plan.Item) string {
	for _, need := range item.Needs {
		return "not checked by the server: " + describe(need) + " is created by this set"
	}
	return errUnchecked.Error()
}

func describe(key object.Key) string { return key.Ref().String() }

// meant returns the kind that was probably meant by one that is not served; empty where
// the cluster has none like it.
func meant(err error) string {
	var near interface{ Meant() string }
	if errors.As(err, &near) {
		return near.Meant()
	}
	return ""
}

// unservedError says that the cluster does not serve a kind that something may still
// bring.
type unservedError struct {
	err     error
	kind    string
	bringer string        // what of the set was to bring it; may be empty
	waited  time.Duration // for the kind, as the user asked; 0 if it was not
}

func (e *unservedError) Error() string {
	switch {
	case e.waited > 0:
		return fmt.Sprintf("%v, after %s of --await-kinds", e.err, e.waited)
	case e.bringer != "":
		return fmt.Sprintf("%v: %s of this set may install it, and has not yet", e.err, e.bringer)
	default:
		return e.err.Error()
	}
}

// Hint says how to wait for the kind. It stands in the place of what the error below
// would advise, which is why that is not unwrapped.
func (e *unservedError) Hint() string {
	switch {
	case e.waited > 0:
		return "is the program that installs " + e.kind + " running? See: " + command.Kubectl("get") + " crd"
	case e.bringer != "":
		return "--await-kinds=5m waits longer; apply again once it is there"
	default:
		if hinted, ok := errors.AsType[interface {
			error
			Hint() string
		}](e.err); ok {
			return hinted.Hint()
		}
		return ""
	}
}

// otherVersionError says that the set defines the kind, but not in the version in
// which the object is written.
type otherVersionError struct {
	gvk      schema.GroupVersionKind
	versions []string
}

func (e *otherVersionError) Error() string {
	return fmt.Sprintf("the CRD of %s in this set has no version %s, but %s",
		e.gvk.Kind, e.gvk.Version, strings.Join(e.versions, ", "))
}

// Hint says what to write.
func (e *otherVersionError) Hint() string {
	return "change apiVersion to " + e.gvk.Group + "/" + e.versions[0]
}
