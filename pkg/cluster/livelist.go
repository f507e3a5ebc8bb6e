package cluster

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// pageSpare is how many more objects than we look for one page may hold.
	pageSpare = 500
	// farMore is how many objects we read past for one that we look for, before
	// reading each by itself is less work.
	farMore = 20
)

// list reads a namespace page by page, visits what is looked for and takes it
// out of left. It returns false when what is left is better read one by one.
// Most sets are one page; the second is all the rest.
func (r *reading) list(ctx context.Context, namespace string, left map[string]int) (whole bool, err error) {
	whole = true
	p := &pager{
		kind: r.kind, size: 2*len(left) + pageSpare, anyTime: true,
		build: func() *rest.Request { return r.client.rest.Get().AbsPath(resourcePath(r.kind, namespace)...) },
		do: func(ctx context.Context, send func(context.Context) error) error {
			return r.client.do(ctx, request{
				ref:   object.Ref{GVK: r.kind.GVK, Namespace: namespace},
				about: r.refsOf(left),
				young: r.client.kinds.isYoung(r.kind.GVK),
				bulk:  true,
			}, send)
		},
		item: func(text []byte) error { return r.take(text, namespace, left) },
	}
	p.more = func(page metav1.ListMeta) bool {
		if len(left) == 0 {
			return false
		}
		p.size = 0
		whole = page.RemainingItemCount != nil && *page.RemainingItemCount <= int64(farMore*len(left))
		return whole
	}
	_, err = p.read(ctx)
	if unserved(statusOf(err)) {
		r.client.kinds.forget(r.kind.GVK)
		return false, r.client.unlisted(ctx, r.kind.GVK, nil)
	}
	return whole && err == nil, err
}

// take visits an item that is looked for. Of what nobody looks for, only the name is
// decoded.
func (r *reading) take(text []byte, namespace string, left map[string]int) error {
	name, err := nameOf(text)
	if err != nil {
		return err
	}
	i, wanted := left[name]
	if !wanted {
		return nil
	}
	live, err := decodeItem(text, r.kind, namespace)
	if err != nil {
		return err
	}
	delete(left, name)
	r.see(i, live, nil)
	return nil
}

func (r *reading) refsOf(left map[string]int) []object.Ref {
	refs := make([]object.Ref, 0, len(left))
	for _, i := range left {
		refs = append(refs, r.refs[i])
	}
	slices.SortFunc(refs, object.Ref.Compare)
	return refs
}
