package survey

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/event"
)

// Metadata is like [Read], but passes all metadata of each object. It reads whole lists only.
func Metadata[T any](
	ctx context.Context, reader *client.NoRetry, places []Place, anew func() T, visit func(T, *unstructured.Unstructured), done func(T),
) []event.Unread {
	var mu sync.Mutex
	var unread []event.Unread
	var group errgroup.Group
	group.SetLimit(SideBySide)
	for _, p := range places {
		group.Go(func() error {
			taken := anew()
			err := p.err
			if err == nil {
				err = reader.EachMetadata(ctx, p.Kind.GVK, p.Selection, func() { taken = anew() }, func(u *unstructured.Unstructured) {
					u.SetGroupVersionKind(p.Kind.GVK)
					visit(taken, u)
				})
			}
			if p.hasGone(err) {
				taken, err = anew(), nil
			}
			mu.Lock()
			defer mu.Unlock()
			done(taken)
			unread = append(unread, p.unread(err)...)
			return nil
		})
	}
	_ = group.Wait()
	return unread
}
