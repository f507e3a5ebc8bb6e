package client

import (
	"context"
	"encoding/json"
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

// countFor bounds one count, which only shows progress and is not worth a long wait.
const countFor = 10 * time.Second

// Count counts what has to go before a terminating object: the objects of a namespace, the
// instances of a CRD, nothing for others. For each kind it requests a single object, whose answer
// says how many more there are; it does not ask again for a kind without any, since nothing new can
// be created there. It leaves out kinds that we may not list, and events, which expire.
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

// Contents visits the metadata of what is deleted with each object: the deletable objects of a
// namespace, the instances of a CRD, nothing for others. It leaves out events, which expire. If
// some of it may not be listed, it returns an error. It visits an object twice that two groups
// serve.
func (c *Client) Contents(ctx context.Context, live *unstructured.Unstructured, visit func(*unstructured.Unstructured)) error {
	kinds, namespace, err := c.holdings(ctx, live)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for _, kind := range kinds {
		if len(kind.Verbs) > 0 && !slices.Contains(kind.Verbs, "delete") {
			continue // It is computed from others, such as the usage of Pods.
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

// holdings returns the kinds that an object may hold, and where.
func (c *Client) holdings(ctx context.Context, live *unstructured.Unstructured) ([]object.Kind, string, error) {
	switch kind := live.GroupVersionKind().GroupKind(); {
	case kind == schema.GroupKind{Kind: "Namespace"}:
		if kinds, known := c.held.get(live.GetUID()); known {
			return kinds, live.GetName(), nil
		}
		kinds, err := c.namespacedKinds(ctx)
		return kinds, live.GetName(), err
	case isDefinition(kind):
		return instancesOf(live), "", nil
	default:
		return nil, "", nil
	}
}

// namespacedKinds returns the kinds of namespaced objects that can be listed.
func (c *Client) namespacedKinds(ctx context.Context) ([]object.Kind, error) {
	kinds, err := c.Listable(ctx)
	return slices.DeleteFunc(kinds, func(k object.Kind) bool { return !k.Namespaced || k.GVK.Kind == "Event" }), err
}

// instancesOf returns the kind that a CRD defines; nil if it serves none. The version is the stored
// one, or another if that is not served.
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

// countKind counts the objects of a kind in a namespace; if that is empty, in all.
func (c *Client) countKind(ctx context.Context, kind object.Kind, namespace string) (int, error) {
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
			_, err := transport.Item(text, kind, within(kind, sel))
			return err
		},
		More: func(metav1.ListMeta) (int, bool) { return 0, false },
	}
	page, err := l.Read(ctx)
	if transport.Denied(err) || apierrors.IsNotFound(err) {
		return 0, nil
	}
	if page.RemainingItemCount != nil {
		n += int(*page.RemainingItemCount)
	}
	return n, err
}

// held remembers which kinds objects still hold.
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

// openFor bounds how long a deletion waits for the storage of a CRD's instances, which opens in a
// fraction of a second. Without it, the CRD is deleted too, but later.
const openFor = 5 * time.Second

// isDefinition reports whether the kind is that of CRDs.
func isDefinition(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// openStorage makes the server open the storage of a CRD's instances before the CRD is deleted. The
// server opens it at the first request for the kind, and its own finalizer requests the kind as
// well: it then fails with "storage is (re)initializing", and may forget the CRD for up to five
// minutes (docs/design/delete.md).
//
// It ignores errors, which the deletion will report.
func (c *Client) openStorage(ctx context.Context, kind object.Kind, ref object.Ref) {
	ctx, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	ahead := transport.Request{Ref: ref, Quiet: true, Asked: make(chan struct{})} // This request is not reported.
	var definition *unstructured.Unstructured
	err := c.requests.Once(ctx, ahead, func(ctx context.Context) error {
		body, err := transport.Read(ctx, c.rest.Get().AbsPath(transport.ResourcePath(kind, ref.Namespace, ref.Name)...))
		if err == nil {
			definition, err = transport.Object(body, kind, ref)
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
			// No object has the label, so that the answer is short. A list with a limit would be
			// read from etcd in more than one page.
			list := listwatch.Collection(c.rest, kinds[0], object.Selection{Labels: "k8sconnect.io/storage=open"})
			_, err := transport.Read(ctx, listwatch.MetadataOnly(list))
			return err
		})
		if !apierrors.IsTooManyRequests(err) || retry.For(ctx, pauses.Step()) != nil {
			return
		}
	}
}

// FieldsPage holds the objects of one page of a list, with only their managed fields. It is valid
// only during the call.
type FieldsPage []ObjectFields

// ObjectFields is an object of a page.
type ObjectFields struct {
	Ref    object.Ref
	Fields []metav1.ManagedFieldsEntry
	// LastApplied is the annotation in which kubectl apply keeps what it wrote.
	LastApplied string
}

// Fields lists the selected objects of a kind without retries and passes their managed fields to
// visit, page by page. The server sends only metadata, and no more than a page is in memory. begin
// is called at the beginning, and again if the list starts over.
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
			item, err := fieldsOf(text, kind, within(kind, sel))
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

// fieldsOf decodes the needed part of a list's item, because there may be much other metadata.
func fieldsOf(text []byte, kind object.Kind, namespace string) (ObjectFields, error) {
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
	switch {
	case out.Ref.Name == "":
		return out, transport.Wrong("a %s without name", kind.GVK.Kind)
	case kind.Namespaced && namespace != "" && out.Ref.Namespace != namespace:
		return out, transport.Wrong("it is the %s %s of namespace %q, not of %q", kind.GVK.Kind, out.Ref.Name, out.Ref.Namespace, namespace)
	}
	return out, nil
}
