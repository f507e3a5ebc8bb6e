package client

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/discovery"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// countFor is the timeout of a count. It is short because a count only shows progress.
const countFor = 10 * time.Second

// Count counts the objects that must be deleted before a terminating object can go away. These are
// the objects in a namespace, or the instances of a CRD. It requests one object of each kind; the
// response says how many more there are. An empty kind is not requested again, because a
// terminating namespace gets no new objects. Count omits events, which expire, and kinds that we
// are not allowed to list.
func (c *Client) Count(ctx context.Context, live *unstructured.Unstructured) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, countFor)
	defer cancel()
	kinds, namespace, err := c.holdings(ctx, live)
	if err != nil {
		return 0, err
	}
	counts := make([]int, len(kinds))
	group, ctx := errgroup.WithContext(ctx)
	for i, kind := range kinds {
		group.Go(func() error {
			var err error
			counts[i], err = c.countKind(ctx, kind, namespace)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	total := 0
	var left []object.Kind
	for i, n := range counts {
		total += n
		if n > 0 {
			left = append(left, kinds[i])
		}
	}
	c.held.put(live.GetUID(), left)
	return total, nil
}

// Contents visits the metadata of the objects that are deleted along with an object. These are the
// deletable objects in a namespace, or the instances of a CRD. It omits events, which expire. It
// visits an object twice if two groups serve it. It returns an error if we are not allowed to list
// one of the kinds.
func (c *Client) Contents(ctx context.Context, live *unstructured.Unstructured, visit func(*unstructured.Unstructured)) error {
	kinds, namespace, err := c.holdings(ctx, live)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for _, kind := range kinds {
		if len(kind.Verbs) > 0 && !slices.Contains(kind.Verbs, "delete") {
			continue // The server computes objects of this kind, such as the metrics of Pods.
		}
		group.Go(func() error {
			err := c.Metadata(ctx, kind, object.Selection{Namespace: namespace}, func(u *unstructured.Unstructured) {
				u.SetGroupVersionKind(kind.GVK)
				mu.Lock()
				defer mu.Unlock()
				visit(u)
			})
			if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
				return nil
			}
			return err
		})
	}
	return group.Wait()
}

func (c *Client) holdings(ctx context.Context, live *unstructured.Unstructured) ([]object.Kind, string, error) {
	switch kind := live.GroupVersionKind().GroupKind(); {
	case kind == schema.GroupKind{Kind: "Namespace"}:
		if kinds, known := c.held.get(live.GetUID()); known {
			return kinds, live.GetName(), nil
		}
		kinds, err := c.Listable(ctx)
		kinds = slices.DeleteFunc(kinds, func(k object.Kind) bool { return !k.Namespaced || k.GVK.Kind == "Event" })
		return kinds, live.GetName(), err
	case isDefinition(kind):
		return instancesOf(live), "", nil
	default:
		return nil, "", nil
	}
}

func instancesOf(definition *unstructured.Unstructured) []object.Kind {
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(definition.Object, path...)
		return value
	}
	var kinds []object.Kind
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, item := range versions {
		if v, ok := item.(map[string]any); ok && v["served"] == true && (kinds == nil || v["storage"] == true) {
			version, _ := v["name"].(string)
			kinds = []object.Kind{{
				GVK:      schema.GroupVersionKind{Group: text("spec", "group"), Version: version, Kind: text("spec", "names", "kind")},
				Resource: text("spec", "names", "plural"),
			}}
		}
	}
	return kinds
}

// WorthAcross reports whether one list or watch of a kind across all namespaces is less work than n
// requests that read some of its objects by namespace. It asks the server how many objects there are.
func (c *Client) WorthAcross(ctx context.Context, kind object.Kind, n int) bool {
	if n <= fewRequests || !slices.Contains(kind.Verbs, "list") {
		return false
	}
	total, err := c.total(ctx, kind, "")
	return err == nil && total <= farMore*n
}

func (c *Client) countKind(ctx context.Context, kind object.Kind, namespace string) (int, error) {
	n, err := c.total(ctx, kind, namespace)
	if transport.Denied(err) || apierrors.IsNotFound(err) {
		return 0, nil
	}
	return n, err
}

func (c *Client) total(ctx context.Context, kind object.Kind, namespace string) (int, error) {
	sel := object.Selection{Namespace: namespace}
	r := transport.Request{Ref: object.Ref{GVK: kind.GVK, Namespace: namespace}, Bulk: true, Quiet: true}
	n := 0
	l := &listwatch.List{
		Kind: kind, Size: 1,
		Build: func() *rest.Request { return listwatch.MetadataOnly(listwatch.Collection(c.rest, kind, sel)) },
		Do: func(ctx context.Context, send func(context.Context) error) error {
			return c.requests.Once(ctx, r, send)
		},
		Turn: func() { n = 0 },
		Item: func(text []byte) error {
			n++
			_, err := transport.Item(text, kind)
			return err
		},
		More: func(metav1.ListMeta) (int, bool) { return 0, false },
	}
	page, err := l.Read(ctx)
	switch {
	case err != nil:
		return 0, err
	case page.RemainingItemCount != nil:
		n += int(*page.RemainingItemCount)
	case page.Continue != "": // An aggregated API may not count.
		return math.MaxInt, nil
	}
	return n, nil
}

type held struct {
	mu    sync.Mutex
	kinds map[types.UID][]object.Kind
}

func (h *held) get(uid types.UID) (kinds []object.Kind, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kinds, known = h.kinds[uid]
	return kinds, known
}

func (h *held) put(uid types.UID, kinds []object.Kind) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kinds == nil {
		h.kinds = map[types.UID][]object.Kind{}
	}
	h.kinds[uid] = kinds
}

const openFor = 5 * time.Second

func isDefinition(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// openStorage makes the server open the storage of a CRD's instances before the CRD is deleted. The
// server opens the storage at the first request for the kind. Without openStorage, the CRD's
// finalizer sends the first request, which fails with "storage is (re)initializing". The server
// might then wait five minutes before it retries (docs/design/delete.md). openStorage ignores
// errors, because the deletion reports them.
func (c *Client) openStorage(ctx context.Context, kind object.Kind, ref object.Ref) {
	ctx, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	ahead := transport.Request{Ref: ref, Quiet: true, Asked: make(chan struct{})} // Asked is never closed, so nothing is reported.
	var definition *unstructured.Unstructured
	err := c.requests.Once(ctx, ahead, func(ctx context.Context) error {
		body, err := transport.Read(ctx, c.rest.Get().AbsPath(transport.ResourcePath(kind, ref.Namespace, ref.Name)...))
		if err == nil {
			definition, err = transport.Object(body, kind)
		}
		return err
	})
	if err != nil || definition.GetDeletionTimestamp() != nil {
		return
	}
	kinds := instancesOf(definition)
	if len(kinds) == 0 {
		return
	}
	pauses := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.5, Steps: 100, Cap: time.Second}
	for {
		err := c.requests.Once(ctx, ahead, func(ctx context.Context) error {
			// No object has this label, so the response is short. A limit instead of the label
			// would make the server read from etcd.
			list := listwatch.Collection(c.rest, kinds[0], object.Selection{Labels: "k8sconnect.io/storage=open"})
			_, err := transport.Read(ctx, listwatch.MetadataOnly(list))
			return err
		})
		if !apierrors.IsTooManyRequests(err) || retry.For(ctx, pauses.Step()) != nil {
			return
		}
	}
}

// FieldsPage is one page of a list. It is valid only during the call.
type FieldsPage []ObjectFields

// ObjectFields is one object of a FieldsPage.
type ObjectFields struct {
	Ref    object.Ref
	Fields []metav1.ManagedFieldsEntry
	// LastApplied is the annotation in which kubectl apply stores the last manifest.
	LastApplied string
}

// Fields lists objects and passes their managed fields to the callback (page). The server sends
// only metadata. Fields does not retry requests. The callback (begin) is called first, and again if
// the list starts over.
func (n *NoRetry) Fields(ctx context.Context, kind object.Kind, sel object.Selection, begin func(), page func(FieldsPage)) error {
	ref := object.Ref{GVK: kind.GVK, Namespace: sel.Namespace, Name: sel.Name}
	var items FieldsPage
	l := &listwatch.List{
		Kind: kind, Size: selectPage, AnyTime: true,
		Build: func() *rest.Request {
			return listwatch.MetadataOnly(listwatch.Collection(n.client.rest, kind, sel))
		},
		Do: func(ctx context.Context, send func(context.Context) error) error {
			if err := n.do(ctx, ref, send); err != nil {
				return err
			}
			page(items)
			return nil
		},
		Begin: begin,
		Turn:  func() { items = items[:0] },
		Item: func(text []byte) error {
			item, err := fieldsOf(text, kind)
			items = append(items, item)
			return err
		},
	}
	_, err := l.Read(ctx)
	if transport.Unserved(err) {
		return discovery.NoneOf(kind)
	}
	return err
}

// fieldsOf decodes only what is needed, because the rest of the metadata may be large.
func fieldsOf(text []byte, kind object.Kind) (ObjectFields, error) {
	var item struct {
		Metadata struct {
			Name          string                      `json:"name"`
			Namespace     string                      `json:"namespace"`
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
			Annotations   struct {
				LastApplied string `json:"kubectl.kubernetes.io/last-applied-configuration"`
			} `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &item); err != nil {
		return ObjectFields{}, transport.Garbled(text)
	}
	out := ObjectFields{
		Ref:    object.Ref{GVK: kind.GVK, Namespace: item.Metadata.Namespace, Name: item.Metadata.Name},
		Fields: item.Metadata.ManagedFields, LastApplied: item.Metadata.Annotations.LastApplied,
	}
	if out.Ref.Name == "" {
		return out, transport.Wrong("a %s without a name", kind.GVK.Kind)
	}
	return out, nil
}
