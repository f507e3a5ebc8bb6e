package discovery

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/deprecation"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Unserved says why the server does not serve a kind, as far as that can be known: in
// which release of Kubernetes it was removed, and in which versions this server has it.
// It returns a *NoKindError, or an *UntoldKindError if the server lists the group version
// but does not find it, as when something else answers for the server behind an API, or the
// error of asking for the kind. It asks for everything that the server serves, until its answers agree, so call it only for
// a kind that is missing for good.
func (d *Discovery) Unserved(ctx context.Context, gvk schema.GroupVersionKind) error {
	none := &NoKindError{GVK: gvk}
	_, err := d.Kind(ctx, gvk)
	known, ok := errors.AsType[*NoKindError](err)
	switch {
	case ok:
		none.Near = known.Near
	case err != nil: // A server that does not say whether it serves the kind does not say that it does not.
		return err
	}
	notice := d.deprecated(ctx, gvk)
	use := d.servedSuccessor(ctx, notice.Use)
	if use.Empty() {
		served, err := d.servedElsewhere(ctx, gvk)
		if ctx.Err() == nil && errors.As(err, new(*contradiction)) {
			return &UntoldKindError{GVK: gvk, Err: err}
		}
		if err != nil {
			return none // Known causes are still reported.
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
		said = append(said, "this server has no replacement")
		hint = "remove it from the manifests"
	default:
		if refused := d.known.refusedOf(gvk); refused != nil {
			none.Err = &object.HintedError{Err: refused, Advice: refused.Hint()}
		}
		return none
	}
	none.Err = &object.HintedError{Err: errors.New(strings.Join(said, "; ")), Advice: hint}
	return none
}

// deprecated returns what this server's release knows about a deprecated kind of
// Kubernetes.
func (d *Discovery) deprecated(ctx context.Context, gvk schema.GroupVersionKind) deprecation.Notice {
	if _, ok := deprecation.Builtin(gvk); !ok {
		return deprecation.Notice{}
	}
	info, err := d.Version(ctx)
	if err != nil {
		return deprecation.Notice{}
	}
	release, _ := deprecation.Server(*info) // An unknown release gives no advice.
	notice, _ := deprecation.Check(gvk, release)
	return notice
}

// servedSuccessor returns the kind if the server has it: a table knows releases, but not
// what this server is configured to leave out.
func (d *Discovery) servedSuccessor(ctx context.Context, use schema.GroupVersionKind) schema.GroupVersionKind {
	if use.Empty() {
		return use
	}
	if _, err := d.Kind(ctx, use); err != nil {
		return schema.GroupVersionKind{}
	}
	return use
}
