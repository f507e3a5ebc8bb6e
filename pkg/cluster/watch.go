package cluster

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Watch is [listwatch.Source.Watch], with an error that is a *NoKindError where the
// server does not serve the kind (any more).
func (c *Client) Watch(ctx context.Context, kind object.Kind, sel object.Selection, tell func(object.Change)) error {
	err := c.lists.Watch(ctx, kind, sel, tell)
	if ctx.Err() == nil && request.Unserved(err) {
		return c.Gone(ctx, kind.GVK)
	}
	return err
}
