package client

import (
	"context"
	"errors"
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/discovery"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// NoRetry reads without retries, for the diagnosis of a cluster. It drops the server's warnings.
// Its errors satisfy [meta.IsNoMatchError] if the server does not serve a kind, but not if only the
// server behind the kind does not answer.
type NoRetry struct {
	client *Client

	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]object.Kind
}

// NoRetry returns a reader that sends each request only once.
func (c *Client) NoRetry() *NoRetry {
	return &NoRetry{client: c, kinds: map[schema.GroupVersionKind]object.Kind{}}
}

// Get reads one object; it returns nil, nil if the object does not exist.
func (n *NoRetry) Get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	kind, err := n.kind(ctx, gvk)
	if err != nil {
		return nil, err
	}
	ref := object.Ref{GVK: gvk, Namespace: namespace, Name: name}
	live, err := n.object(ctx, kind, ref, func() *rest.Request {
		return n.client.rest.Get().AbsPath(transport.ResourcePath(kind, namespace, name)...)
	})
	switch {
	case transport.Unserved(err):
		return nil, discovery.NoneOf(kind)
	case apierrors.IsNotFound(err):
		return nil, nil
	}
	return live, err
}

// GetAt reads one object at an earlier resource version of its kind; it returns nil, nil if the
// object did not exist then. The server keeps old versions for a few minutes.
func (n *NoRetry) GetAt(ctx context.Context, kind object.Kind, ref object.Ref, version string, metadata bool) (*unstructured.Unstructured, error) {
	var found *unstructured.Unstructured
	l := &listwatch.List{
		Kind: kind,
		Build: func() *rest.Request {
			r := listwatch.Collection(n.client.rest, kind, object.Selection{Namespace: ref.Namespace, Name: ref.Name}).
				Param("resourceVersion", version).Param("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
			if metadata {
				return listwatch.MetadataOnly(r)
			}
			return r
		},
		Do: func(ctx context.Context, send func(context.Context) error) error { return n.do(ctx, ref, send) },
		Item: func(text []byte) error {
			var err error
			found, err = transport.Item(text, kind)
			return err
		},
	}
	_, err := l.Read(ctx)
	return found, err
}

// Metrics reads the API server's metrics.
func (n *NoRetry) Metrics(ctx context.Context, visit func(io.Reader) error) error {
	return n.do(ctx, object.Ref{}, func(ctx context.Context) error {
		body, err := n.client.rest.Get().AbsPath("/metrics").SetHeader("Accept", "text/plain").Stream(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		return visit(body)
	})
}

// Exists reports whether an object exists, without reading its content.
func (n *NoRetry) Exists(ctx context.Context, ref object.Ref) (bool, error) {
	kind, err := n.kind(ctx, ref.GVK)
	if err != nil {
		return false, err
	}
	err = n.do(ctx, ref, func(ctx context.Context) error {
		_, err := transport.Read(ctx, n.client.existence(kind, ref))
		return err
	})
	switch {
	case transport.Unserved(err):
		return false, discovery.NoneOf(kind)
	case apierrors.IsNotFound(err):
		return false, nil
	}
	return err == nil, err
}

// Select is like [Client.Select], but without retries.
func (n *NoRetry) Select(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	return n.visit(ctx, gvk, query{sel: sel, fields: fields, visit: visit})
}

// SelectLarge is like [NoRetry.Select], but with small pages, for large objects such as CRDs.
func (n *NoRetry) SelectLarge(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, fields string, visit func(*unstructured.Unstructured)) error {
	return n.visit(ctx, gvk, query{sel: sel, fields: fields, visit: visit, size: 50})
}

// Metadata returns the metadata of the selected objects.
func (n *NoRetry) Metadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection) ([]unstructured.Unstructured, error) {
	var items []unstructured.Unstructured
	err := n.visit(ctx, gvk, query{
		sel: sel, metadata: true,
		begin: func() { items = nil },
		visit: func(u *unstructured.Unstructured) { items = append(items, *u) },
	})
	return items, err
}

// EachMetadata passes the metadata of each selected object to visit. begin is called first, and again if
// the list starts over.
func (n *NoRetry) EachMetadata(ctx context.Context, gvk schema.GroupVersionKind, sel object.Selection, begin func(), visit func(*unstructured.Unstructured)) error {
	return n.visit(ctx, gvk, query{sel: sel, metadata: true, begin: begin, visit: visit})
}

func (n *NoRetry) visit(ctx context.Context, gvk schema.GroupVersionKind, q query) error {
	kind, err := n.kind(ctx, gvk)
	if err != nil {
		return err
	}
	q.kind, q.do = kind, func(ctx context.Context, send sending) error {
		return n.do(ctx, object.Ref{GVK: gvk, Namespace: q.sel.Namespace}, send)
	}
	if err = n.client.visit(ctx, q); transport.Unserved(err) {
		return discovery.NoneOf(kind)
	}
	return err
}

// Kinds returns the served kinds that can be listed, each at one version. It omits an API whose
// server does not answer. It uses no cache from before this run, because a kind that is missing
// from the cache may be the problem.
func (n *NoRetry) Kinds(ctx context.Context) ([]object.Kind, error) {
	kinds, err := n.client.Listable(ctx)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, kind := range kinds {
		n.kinds[kind.GVK] = kind
	}
	return kinds, err
}

// DryRunRemoveFinalizer tries to remove a finalizer in a dry run. The error is the server's
// refusal.
func (n *NoRetry) DryRunRemoveFinalizer(ctx context.Context, ref object.Ref, live *unstructured.Unstructured, finalizer string) error {
	kind, err := n.kind(ctx, ref.GVK)
	if err != nil {
		return err
	}
	_, err = n.object(ctx, kind, ref, func() *rest.Request {
		return n.client.removal(kind, live, finalizer).Param("dryRun", metav1.DryRunAll)
	})
	return err
}

// Allowed reports whether a user may use the verb on the object. An empty user means the current
// one.
func (n *NoRetry) Allowed(ctx context.Context, user, verb string, ref object.Ref) (bool, error) {
	kind, err := n.kind(ctx, ref.GVK)
	if err != nil {
		return false, err
	}
	return n.client.permitted(ctx, kind, user, verb, ref, func(ctx context.Context, send sending) error {
		return n.do(ctx, ref, send)
	})
}

func (n *NoRetry) kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	n.mu.Lock()
	kind, known := n.kinds[gvk]
	n.mu.Unlock()
	if known {
		return kind, nil
	}
	kind, err := n.client.Kind(ctx, gvk)
	if missing, ok := errors.AsType[*NoKindError](err); ok && missing.Err != nil {
		return kind, transport.NoAnswer(missing.Err)
	}
	return kind, err
}

func (n *NoRetry) object(ctx context.Context, kind object.Kind, ref object.Ref, build func() *rest.Request) (*unstructured.Unstructured, error) {
	var live *unstructured.Unstructured
	err := n.do(ctx, ref, func(ctx context.Context) error {
		body, err := transport.Read(ctx, build())
		if err == nil {
			live, err = transport.Object(body, kind)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return live, nil
}

func (n *NoRetry) do(ctx context.Context, ref object.Ref, send sending) error {
	return n.client.requests.Once(ctx, transport.Request{Ref: ref, Quiet: true, Bulk: true}, send)
}
