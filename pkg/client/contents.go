package client

import (
	"context"
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
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// countFor bounds one count. A slow answer is not worth waiting for, since the count only
// shows progress.
const countFor = 10 * time.Second

// Count counts what a terminating object holds that has to go first: for a namespace its
// objects, for a definition its instances, for anything else nothing. For each kind it
// asks the server for one object, and the answer says how many more there are; it does
// not ask again for a kind that had none, since nothing can be created there any more. It
// leaves out kinds that we may not list, and events, which come and go.
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

// Contents visits, for each object, the metadata of what it holds and what goes with it:
// for a namespace the objects that can be deleted, for a definition the instances, for
// anything else nothing. It leaves out events, which come and go. If some of it may not
// be listed, it returns an error. An object that is served by two groups is visited
// twice.
func (c *Client) Contents(ctx context.Context, live *unstructured.Unstructured, visit func(*unstructured.Unstructured)) error {
	kinds, namespace, err := c.holdings(ctx, live)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for _, kind := range kinds {
		if len(kind.Verbs) > 0 && !slices.Contains(kind.Verbs, "delete") {
			continue // It is computed of something else, such as what Pods use.
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

// holdings returns the kinds of objects that an object may hold, and where.
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

// instancesOf returns the kind that a definition defines, nil if it serves none: in the version
// that its objects are stored in, or in another if that is not served.
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

// countKind counts the objects of a kind, in all namespaces if that is empty.
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

// held remembers which kinds are left in objects that hold some.
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
