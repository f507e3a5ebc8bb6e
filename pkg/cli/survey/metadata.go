package survey

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Metadata is like [Read], but passes all metadata of each object. It reads whole lists only.
func Metadata[T any](
	ctx context.Context, reader *client.NoRetry, places []Place, anew func() T, visit func(T, *unstructured.Unstructured), done func(T),
) []event.Unread {
	return each(places, func(p Place) (T, error) {
		taken := anew()
		if p.err != nil {
			return taken, p.err
		}
		err := reader.EachMetadata(ctx, p.Kind.GVK, p.Selection, func() { taken = anew() }, func(u *unstructured.Unstructured) {
			u.SetGroupVersionKind(p.Kind.GVK)
			visit(taken, u)
		})
		if p.hasGone(err) {
			return anew(), nil
		}
		return taken, err
	}, done)
}
