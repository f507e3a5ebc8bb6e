package cluster

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Names returns the names of what is selected, in the server's order; nothing else
// of the objects is read.
func (c *Client) Names(ctx context.Context, kind object.Kind, sel object.Selection) ([]string, error) {
	w := &watching{client: c, kind: kind, sel: sel, tell: func(object.Change) {}}
	var names, page []string
	p := &pager{
		kind: kind, size: usualPage, anyTime: true,
		build: func() *rest.Request { return w.collection().SetHeader("Accept", metadataAlone) },
		do: func(ctx context.Context, send func(context.Context) error) error {
			if err := w.do(ctx, send); err != nil {
				return err
			}
			names = append(names, page...)
			return nil
		},
		begin: func() { names = nil },
		turn:  func() { page = page[:0] },
		item: func(text []byte) error {
			u, err := decodeItem(text, kind, w.namespace())
			if err == nil {
				page = append(page, u.GetName())
			}
			return err
		},
	}
	_, err := p.read(ctx)
	return names, err
}
