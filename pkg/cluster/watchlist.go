package cluster

import (
	"context"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// list reads everything selected, page by page, and tells of what is new, what
// changed and what is gone. It asks for the newest state, never for one that a
// cache of the server's may have kept: an older version of an object may be one
// that was ready. A page that breaks off is read again; what was told of it already
// is not told again.
func (w *watching) list(ctx context.Context) error {
	p := &pager{
		kind: w.kind, size: usualPage, build: w.collection, do: w.do,
		begin: func() { w.round++ },
		item: func(text []byte) error {
			u, err := decodeItem(text, w.kind, w.namespace())
			if err == nil {
				w.present(u)
			}
			return err
		},
	}
	page, err := p.read(ctx)
	if err != nil {
		return err
	}
	w.version = page.ResourceVersion
	w.sweep()
	return nil
}

// namespace is where everything is that is selected; empty for anywhere.
func (w *watching) namespace() string {
	if !w.kind.Namespaced {
		return ""
	}
	return w.sel.Namespace
}

// ref is what a request for the selected objects is about.
func (w *watching) ref() object.Ref {
	return object.Ref{GVK: w.kind.GVK, Namespace: w.sel.Namespace, Name: w.sel.Name}
}
