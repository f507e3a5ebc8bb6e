package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Unserved says why the server does not serve a kind, as far as that can be known:
// in which release of Kubernetes it was removed, and in which versions this server
// has it. It returns a *NoKindError. It costs two requests or three, so ask it only about
// a kind that is missing for good.
func (c *Client) Unserved(ctx context.Context, gvk schema.GroupVersionKind) error {
	none := &NoKindError{GVK: gvk}
	_, err := c.Kind(ctx, gvk)
	if known, ok := errors.AsType[*NoKindError](err); ok {
		none.Near = known.Near
	}
	notice := c.deprecated(ctx, gvk)
	use := c.servedSuccessor(ctx, notice.Use)
	if use.Empty() {
		served, err := c.otherVersion(ctx, gvk, true)
		if err != nil {
			return none // What is known already is said all the same.
		}
		if !served.Empty() {
			use = served.WithKind(gvk.Kind)
		}
	}
	var said []string
	if notice.Gone {
		said = append(said, "removed in "+notice.Removed.String())
	}
	hint := ""
	switch {
	case !use.Empty():
		said = append(said, fmt.Sprintf("this server has %s in %s", use.Kind, use.GroupVersion()))
		hint = "change apiVersion to " + use.GroupVersion().String()
		if use.Kind != gvk.Kind {
			hint += ", and kind to " + use.Kind
		}
	case notice.Gone:
		said = append(said, "this server has nothing in its place")
		hint = "take it out of the manifests"
	default:
		if refused := c.kinds.refusedOf(gvk); refused != nil {
			none.Err = &object.HintedError{Err: refused, Advice: refused.Hint()}
		}
		return none
	}
	none.Err = &object.HintedError{Err: errors.New(strings.Join(said, "; ")), Advice: hint}
	return none
}

// deprecated returns what there is to say of a kind of Kubernetes on this server.
func (c *Client) deprecated(ctx context.Context, gvk schema.GroupVersionKind) deprecation.Notice {
	if _, ok := deprecation.Builtin(gvk); !ok {
		return deprecation.Notice{}
	}
	info, err := c.Version(ctx)
	if err != nil {
		return deprecation.Notice{}
	}
	release, _ := deprecation.Server(*info) // Of one that is not known, nothing is said.
	notice, _ := deprecation.Check(gvk, release)
	return notice
}

// servedSuccessor returns the kind if the server has it: a table knows releases, not
// what this server was told to leave out.
func (c *Client) servedSuccessor(ctx context.Context, use schema.GroupVersionKind) schema.GroupVersionKind {
	if use.Empty() {
		return use
	}
	if _, err := c.Kind(ctx, use); err != nil {
		return schema.GroupVersionKind{}
	}
	return use
}

// NotEstablishedError says that a definition will not come to be served as it is.
type NotEstablishedError struct {
	Definition string
	// Message is the API server's.
	Message string
}

func (e *NotEstablishedError) Error() string {
	return fmt.Sprintf("customresourcedefinition.apiextensions.k8s.io/%s is not established: %s", e.Definition, e.Message)
}

// Hint says what is in the way.
func (e *NotEstablishedError) Hint() string {
	return "another definition has one of its names; see: " + command.Kubectl("get") + " crd"
}

// Established waits until the API server has accepted a definition, for as long as
// it would wait for the server itself. It returns a *NotEstablishedError if the names
// of the definition are taken. Who may not read definitions learns nothing here;
// [Client.Served] tells in any case.
func (c *Client) Established(ctx context.Context, definition string) error {
	crd := definitionKind()
	pauses := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 100, Cap: 2 * time.Second}
	for began := time.Now(); ; {
		live, err := c.Get(ctx, crd, object.Ref{GVK: crd.GVK, Name: definition})
		switch {
		case apierrors.IsForbidden(err):
			return nil
		case err != nil:
			return err
		}
		names := object.ConditionOf(live, "NamesAccepted")
		established := object.ConditionOf(live, "Established")
		switch pause := pauses.Step(); {
		case established.Status == "True":
			return nil
		case names.Status == "False":
			return &NotEstablishedError{Definition: definition, Message: names.Message}
		case time.Since(began)+pause > c.timeout:
			why := cmp.Or(established.Message, "the API server has not looked at it yet")
			return &NotEstablishedError{Definition: definition, Message: why}
		default:
			if err := sleep(ctx, pause); err != nil {
				return err
			}
		}
	}
}
