package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// kinds remembers what discovery told, one group version at a time.
type kinds struct {
	mu    sync.Mutex
	known map[schema.GroupVersion]*resources
}

// resources are what one group version serves, asked for once.
type resources struct {
	once sync.Once
	list []metav1.APIResource
	err  error
}

func (k *kinds) of(gv schema.GroupVersion) *resources {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[schema.GroupVersion]*resources{}
	}
	if k.known[gv] == nil {
		k.known[gv] = &resources{}
	}
	return k.known[gv]
}

// forget makes the next question about the group version a new one.
func (k *kinds) forget(gv schema.GroupVersion) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, gv)
}

// Kind tells how the server serves a kind. What is cached on disk is believed
// where it knows the kind, and asked afresh where it does not: definitions come
// and go. Only the group version of the kind is asked about, so that an API whose
// server is down is in nobody's way (edge case 21). The error is a *NoKindError
// if the server does not serve it.
func (c *Client) Kind(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	gv := gvk.GroupVersion()
	cached := c.kinds.of(gv)
	cached.once.Do(func() { cached.list, cached.err = c.cached(ctx, gv) })
	if cached.err != nil {
		c.kinds.forget(gv)
		if !errors.As(cached.err, new(*NoKindError)) {
			return object.Kind{}, cached.err
		}
	}
	if kind, ok := find(cached.list, gvk); ok {
		return kind, nil
	}
	kind, err := c.fresh(ctx, gvk)
	if err == nil {
		c.refreshCache(ctx, gv)
	}
	return kind, err
}

// cached asks kubectl's discovery cache, which asks the server for a group
// version that it does not have.
func (c *Client) cached(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error) {
	var list *metav1.APIResourceList
	err := c.do(ctx, object.Ref{}, func(ctx context.Context) error {
		var err error
		list, err = c.discovery.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
		if errors.Is(err, memory.ErrCacheNotFound) { // not in what the server listed of itself
			return &NoKindError{GVK: gv.WithKind("")}
		}
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, &NoKindError{GVK: gv.WithKind("")}
	}
	if err != nil {
		return nil, err
	}
	return list.APIResources, nil
}

// fresh asks the server itself.
func (c *Client) fresh(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	path := []string{"/apis", gvk.Group, gvk.Version}
	if gvk.Group == "" {
		path = []string{"/api", gvk.Version}
	}
	var list metav1.APIResourceList
	err := c.do(ctx, object.Ref{}, func(ctx context.Context) error {
		body, err := send(ctx, c.rest.Get().AbsPath(path...))
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &list)
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return object.Kind{}, err
	}
	if kind, ok := find(list.APIResources, gvk); ok {
		return kind, nil
	}
	return object.Kind{}, &NoKindError{GVK: gvk}
}

// refreshCache puts right what the cache on disk has of a group version, for
// the next program that reads it.
func (c *Client) refreshCache(ctx context.Context, gv schema.GroupVersion) {
	c.discovery.InvalidateWithContext(ctx)
	c.kinds.forget(gv)
	entry := c.kinds.of(gv)
	entry.once.Do(func() { entry.list, entry.err = c.cached(ctx, gv) })
}

// find looks for the resource of a kind; subresources are of kinds of their own.
func find(list []metav1.APIResource, gvk schema.GroupVersionKind) (object.Kind, bool) {
	i := slices.IndexFunc(list, func(r metav1.APIResource) bool {
		return r.Kind == gvk.Kind && !strings.Contains(r.Name, "/")
	})
	if i < 0 {
		return object.Kind{}, false
	}
	return object.Kind{GVK: gvk, Resource: list[i].Name, Namespaced: list[i].Namespaced, Verbs: list[i].Verbs}, true
}

// Served waits until the server serves the kind, for as long as it would wait
// for the server itself. A definition that is Established is not yet served
// (apiextensions-apiserver#5; edge case 18): only asking for the kind tells.
func (c *Client) Served(ctx context.Context, gvk schema.GroupVersionKind) (object.Kind, error) {
	began := c.clock.Now()
	backoff := backoff()
	backoff.Duration /= 4
	for {
		kind, err := c.fresh(ctx, gvk)
		if err == nil {
			c.refreshCache(ctx, gvk.GroupVersion())
			return kind, nil
		}
		pause := backoff.Step()
		if !errors.As(err, new(*NoKindError)) || c.clock.Since(began)+pause > c.timeout {
			return object.Kind{}, err
		}
		if err := c.sleep(ctx, pause); err != nil {
			return object.Kind{}, err
		}
	}
}
