package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/answer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/request"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// kinds remembers how the server serves kinds.
type kinds struct {
	mu    sync.Mutex
	known map[schema.GroupVersionKind]object.Kind
	// young kinds were not served when the run began.
	young map[schema.GroupVersionKind]bool
	// terse kinds are served, but their servers say of an object that is not there
	// only that something is not.
	terse map[schema.GroupVersionKind]bool
	// refused kinds have a definition that the server does not accept.
	refused map[schema.GroupVersionKind]*NotEstablishedError

	// asking is held, by whoever can send to it, while discovery is asked: a cold
	// cache is filled once, not by each who finds it cold.
	asking chan struct{}
	// renewed: the cache was found to be out of date, and filled anew.
	renewed bool
	// read is when what the server serves was last read because a type was not
	// found.
	read time.Time
}

func newKinds() *kinds {
	return &kinds{
		known:   map[schema.GroupVersionKind]object.Kind{},
		young:   map[schema.GroupVersionKind]bool{},
		terse:   map[schema.GroupVersionKind]bool{},
		refused: map[schema.GroupVersionKind]*NotEstablishedError{},
		asking:  make(chan struct{}, 1),
	}
}

func (k *kinds) get(gvk schema.GroupVersionKind) (object.Kind, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kind, ok := k.known[gvk]
	return kind, ok
}

func (k *kinds) put(kind object.Kind, young bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[kind.GVK] = kind
	if young {
		k.young[kind.GVK] = true
	}
}

// forget notes that the server does not serve the kind any more.
func (k *kinds) forget(gvk schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, gvk)
}

func (k *kinds) isNewlyServed(gvk schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.young[gvk]
}

func (k *kinds) isTerse(gvk schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.terse[gvk]
}

func (k *kinds) setTerse(gvk schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.terse[gvk] = true
}

func (k *kinds) refusedOf(gvk schema.GroupVersionKind) *NotEstablishedError {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.refused[gvk]
}

func (k *kinds) setRefused(gvk schema.GroupVersionKind, why *NotEstablishedError) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refused[gvk] = why
}

// lock makes the caller the only one to ask discovery, until unlock is called.
func (k *kinds) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case k.asking <- struct{}{}:
		return func() { <-k.asking }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Kind tells how the server serves a kind. What is cached on disk is believed
// where it knows a kind of Kubernetes' own; where it does not know a kind, the
// cache is filled anew, once in a run. Definitions of others come and go, faster
// than a cache gets old: of them, the server is asked. Only the group version of
// the kind is looked at, so that an API whose server is down is in nobody's way
// (edge case 21). The error is a *NoKindError if the server does not serve the
// kind, and an *UntoldKindError if the server is well but what serves the kind does
// not answer (edge case 20).
func (c *Client) Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	if kind, ok := c.kinds.get(gvk); ok {
		return kind, nil
	}
	kind, sure, err := c.remembered(ctx, gvk)
	if err == nil && !sure {
		kind, err = c.live(ctx, gvk)
	}
	if err == nil {
		c.kinds.put(kind, false)
	}
	return kind, err
}

// remembered asks the cache. It is not sure of what it had from before this run
// and may have gone since.
func (c *Client) remembered(ctx context.Context, gvk schema.GroupVersionKind) (kind object.Kind, sure bool, err error) {
	unlock, err := c.kinds.lock(ctx)
	if err != nil {
		return object.Kind{}, false, err
	}
	defer unlock()
	kind, err = c.cached(ctx, gvk)
	if errors.As(err, new(*NoKindError)) && !c.kinds.renewed && !c.discovery.FreshWithContext(ctx) {
		c.kinds.renewed = true
		c.discovery.InvalidateWithContext(ctx)
		kind, err = c.cached(ctx, gvk)
	}
	return kind, answer.KubernetesOwn(gvk.Group) || c.discovery.FreshWithContext(ctx), err
}

// cached looks into the cache, which fills itself where it is empty: with two
// requests for everything if the server has aggregated discovery (KEP-3352).
func (c *Client) cached(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	var list *metav1.APIResourceList
	var stale discovery.StaleGroupVersionError
	gv := gvk.GroupVersion()
	err := c.requests.Do(ctx, request.Request{Ref: object.Ref{GVK: gvk}, Bulk: true}, func(ctx context.Context) error {
		var err error
		list, err = c.discovery.ServerResourcesForGroupVersionWithContext(quietly(ctx), gv.String())
		if err != nil && request.Classify(err, request.Request{}) != request.Final {
			c.discovery.InvalidateWithContext(ctx) // It would remember the error.
		}
		return err
	})
	switch {
	case errors.Is(err, memory.ErrCacheNotFound), apierrors.IsNotFound(err):
		return object.Kind{}, &NoKindError{GVK: gvk}
	case errors.As(err, &stale):
		return object.Kind{}, &NoKindError{GVK: gvk, Err: errDeadAPI}
	case err != nil:
		return object.Kind{}, ofKind(gvk, err)
	}
	return find(list, gvk)
}

var errDeadAPI = errors.New("the server behind this API does not answer")

// ofKind makes an error of asking how a kind is served one about the kind, if the server
// is there and answers that this cannot be answered now. Where it asks to be left alone,
// that is about more than the kind.
func ofKind(gvk schema.GroupVersionKind, err error) error {
	if request.StatusOf(err).Code >= http.StatusInternalServerError {
		return &UntoldKindError{GVK: gvk, Err: err}
	}
	return err
}

// find looks for the resource of a kind; subresources are of kinds of their own.
func find(list *metav1.APIResourceList, gvk schema.GroupVersionKind) (object.Kind, error) {
	i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == gvk.Kind && !strings.Contains(r.Name, "/")
	})
	if i < 0 {
		return object.Kind{}, &NoKindError{GVK: gvk, Near: nearKind(list, gvk)}
	}
	r := list.APIResources[i]
	return object.Kind{
		GVK: gvk, Resource: r.Name, ShortNames: r.ShortNames, Namespaced: r.Namespaced, Verbs: r.Verbs,
	}, nil
}

// live asks the server itself about the one group version. Its errors are those of Kind.
func (c *Client) live(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	l, err := c.listed(ctx, gvk.GroupVersion())
	if err != nil {
		return object.Kind{}, ofKind(gvk, err)
	}
	return find(&l.kinds, gvk)
}

// listing is the server's own list of the kinds of a group version; empty if it has none.
type listing struct {
	kinds metav1.APIResourceList
	found bool
}

func (c *Client) listed(ctx context.Context, gv schema.GroupVersion) (listing, error) {
	var l listing
	err := c.requests.Do(ctx, request.Request{Ref: object.Ref{GVK: gv.WithKind("")}, Bulk: true}, func(ctx context.Context) error {
		body, err := request.Read(ctx, c.rest.Get().AbsPath(request.GroupPath(gv.Group, gv.Version)...))
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &l.kinds)
	})
	if apierrors.IsNotFound(err) {
		return listing{}, nil
	}
	l.found = err == nil
	return l, err
}

// renew puts right what the cache has of a kind that is new, for whoever reads
// it next. The kind being known already, only an interruption is an error.
func (c *Client) renew(ctx context.Context, gvk schema.GroupVersionKind) error {
	unlock, err := c.kinds.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c.discovery.InvalidateWithContext(ctx)
	_, _ = c.cached(ctx, gvk) // The next who looks finds out by himself.
	return nil
}
