package target

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// WhyAbsent says why an object may not be there: its namespace is not, or another
// name was meant. It says nothing where that cannot be read.
func WhyAbsent(client *client.Client) func(context.Context, object.Kind, object.Ref) string {
	const lookupTimeout = 5 * time.Second
	return func(ctx context.Context, kind object.Kind, ref object.Ref) string {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		if kind.Namespaced && ref.Namespace != "" {
			if missing := missingNamespace(ctx, client, ref.Namespace); missing != "" {
				return missing
			}
		}
		if ref.Name == "" || kind.Resource == "" {
			return ""
		}
		names, err := client.Names(ctx, kind, object.Selection{Namespace: Scope(kind, ref.Namespace)})
		if err != nil {
			return ""
		}
		meant := ref
		if meant.Name = text.Nearest(ref.Name, names); meant.Name == "" || meant.Name == ref.Name {
			return ""
		}
		return "did you mean " + meant.String() + "?"
	}
}

// missingNamespace says that a namespace does not exist, and which one may have been
// meant; nothing where it does, or where that cannot be read.
func missingNamespace(ctx context.Context, client *client.Client, name string) string {
	namespace := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: name}
	if there, err := client.Exists(ctx, namespace); err != nil || there {
		return ""
	}
	said := namespace.String() + " does not exist"
	kind, err := client.Kind(ctx, namespace.GVK)
	if err != nil {
		return said
	}
	names, err := client.Names(ctx, kind, object.Selection{})
	if err != nil {
		return said
	}
	if meant := text.Nearest(name, names); meant != "" {
		said += "; did you mean " + meant + "?"
	}
	return said
}

// Explained adds to the error of an object that was not found why it may not be there.
func Explained(ctx context.Context, client *client.Client, ref object.Ref, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	kind, unknown := client.Kind(ctx, ref.GVK)
	if unknown != nil {
		return err
	}
	if why := WhyAbsent(client)(ctx, kind, ref); why != "" {
		return &object.HintedError{Err: err, Advice: why}
	}
	return err
}

// ExplainingReader is a client that says why an object may not be there.
type ExplainingReader struct{ *client.Client }

// Read reads an object.
func (r ExplainingReader) Read(ctx context.Context, ref object.Ref) (*unstructured.Unstructured, error) {
	u, err := r.Client.Read(ctx, ref)
	return u, Explained(ctx, r.Client, ref, err)
}
