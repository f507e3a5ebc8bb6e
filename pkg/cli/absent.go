package cli

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/text"
)

// whyAbsent says why an object may not be there: its namespace is not, or another
// name was meant. It says nothing where that cannot be read.
func whyAbsent(client *cluster.Client) func(context.Context, object.Kind, object.Ref) string {
	const lookupTimeout = 5 * time.Second
	return func(ctx context.Context, kind object.Kind, ref object.Ref) string {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		if kind.Namespaced && ref.Namespace != "" {
			namespace := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, Name: ref.Namespace}
			if there, err := client.Exists(ctx, namespace); err == nil && !there {
				return namespace.String() + " does not exist"
			}
		}
		if ref.Name == "" || kind.Resource == "" {
			return ""
		}
		names, err := client.Names(ctx, kind, object.Selection{Namespace: scope(kind, ref.Namespace)})
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
