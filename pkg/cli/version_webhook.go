package cli

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/output/format"
)

// The labels by which an installed webhook is found, and its version.
const (
	webhookSelector     = "app.kubernetes.io/name=k8sconnect"
	webhookVersionLabel = "app.kubernetes.io/version"
)

// webhookVersion describes the webhook in the cluster.
type webhookVersion struct {
	// Installed is absent where it is not known.
	Installed *bool  `json:"installed,omitempty"`
	Version   string `json:"version,omitempty"`
	// Unknown is why it is not known.
	Unknown string `json:"unknown,omitempty"`
}

// webhookOf looks for the webhook. Not every user may look: that is not an error.
func webhookOf(ctx context.Context, client *client.Client) *webhookVersion {
	kind := schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"}
	var found *unstructured.Unstructured
	err := client.Select(ctx, kind, object.Selection{Labels: webhookSelector}, "",
		func(u *unstructured.Unstructured) { found = u })
	installed := found != nil
	switch {
	case apierrors.IsForbidden(err):
		return &webhookVersion{Unknown: "no permission to list validatingwebhookconfigurations"}
	case err != nil:
		return &webhookVersion{Unknown: err.Error()}
	case !installed:
		return &webhookVersion{Installed: &installed}
	}
	return &webhookVersion{Installed: &installed, Version: found.GetLabels()[webhookVersionLabel]}
}

// String says it in a few words.
func (v *webhookVersion) String() string {
	switch {
	case v.Installed == nil:
		return "unknown, " + format.Plain(v.Unknown)
	case !*v.Installed:
		return "not installed"
	default:
		return cmp.Or(format.Plain(v.Version), "installed, version unknown")
	}
}

// UntilStopped returns a context that ends when the program is asked to stop: by Ctrl-C,
// by SIGTERM, or because its terminal was closed. A second Ctrl-C or SIGTERM ends the
// program at once; a second SIGHUP does not, because shell and kernel each send one.
// Signals that were ignored when the program began (nohup, a job in the background) stay
// ignored.
func UntilStopped(ctx context.Context) context.Context {
	stops := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	if len(stops) == 0 { // To be notified of none is to be notified of all.
		return ctx
	}
	ctx, _ = signal.NotifyContext(ctx, stops...)
	context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	return ctx
}
