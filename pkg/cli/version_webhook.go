package cli

import (
	"cmp"
	"context"

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
