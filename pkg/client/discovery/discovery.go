// Package discovery finds out which kinds an API server serves, and how. It covers their names,
// aliases and schemas, similar names, and kinds that were added or removed. Start with [New]. It
// never writes to the cluster.
package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

const (
	forGroups  = "groups"
	forKinds   = "kinds of groups"
	forSchemas = "schemas"
)

// Reader reads one object.
type Reader = func(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error)

// Options configure a Discovery. All are required.
type Options struct {
	Cache   *Cache
	REST    *rest.RESTClient
	Send    *transport.Sender
	Timeout time.Duration
	Get     Reader
}

// Discovery knows how one API server serves kinds. It is safe for concurrent use.
type Discovery struct {
	rest     *rest.RESTClient
	requests *transport.Sender
	cache    *Cache
	timeout  time.Duration
	get      Reader
	known    *known
	asking   singleflight.Group
}

// New returns a Discovery. It sends no request.
func New(o Options) *Discovery {
	return &Discovery{
		rest: o.REST, requests: o.Send, cache: o.Cache, timeout: o.Timeout, get: o.Get, known: &known{asking: make(chan struct{}, 1)},
	}
}

// NewlyServed reports whether the server began to serve a kind during the run.
func (d *Discovery) NewlyServed(gvk schema.GroupVersionKind) bool { return d.known.young.get(gvk) }

// Know records a kind. young is set if the server did not serve the kind at the start of the run.
func (d *Discovery) Know(kind object.Kind, young bool) {
	d.known.kinds.put(kind.GVK, kind)
	if young {
		d.known.young.put(kind.GVK, true)
	}
}

// Version returns the server's version.
func (d *Discovery) Version(ctx context.Context) (*version.Info, error) {
	var info version.Info
	err := d.requests.Do(ctx, transport.Request{}, func(ctx context.Context) error {
		body, err := transport.Read(ctx, d.rest.Get().AbsPath("/version"))
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &info)
	})
	if err != nil {
		return nil, fmt.Errorf("version of the server: %w", err)
	}
	return &info, nil
}

// once returns a function that calls f only once for each argument. Concurrent callers wait for the
// result.
func once[K comparable, V any](f func(K) V) func(K) V {
	var mu sync.Mutex
	known := map[K]func() V{}
	return func(key K) V {
		mu.Lock()
		value, ok := known[key]
		if !ok {
			value = sync.OnceValue(func() V { return f(key) })
			known[key] = value
		}
		mu.Unlock()
		return value()
	}
}

// until calls the callback (done) at increasing intervals. It returns once the callback returns
// true, or once the time limit (within) has passed. It returns an error only if ctx ends.
func until(ctx context.Context, within time.Duration, done func() bool) error {
	pauses := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.25, Jitter: 0.2, Steps: 100, Cap: 2 * time.Second}
	for began := time.Now(); !done(); {
		in := pauses.Step()
		if time.Since(began)+in > within {
			return nil
		}
		if err := retry.For(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

type known struct {
	kinds table[object.Kind]
	young table[bool]
	// terse is set for a served kind if the server's 404 for a missing object of the kind does not
	// name the object.
	terse   table[bool]
	refused table[*NotEstablishedError]

	// asking is a lock. Its holder reads the cache, and fills it if it is empty, so that the cache
	// is filled only once.
	asking chan struct{}
	// renewed is set once an outdated cache has been refilled. Only the holder of asking may access
	// the fields renewed and read.
	renewed bool
	read    time.Time
}

type table[V any] struct{ entries sync.Map }

func (t *table[V]) get(gvk schema.GroupVersionKind) V {
	value, _ := t.entries.Load(gvk)
	v, _ := value.(V)
	return v
}

func (t *table[V]) put(gvk schema.GroupVersionKind, value V) { t.entries.Store(gvk, value) }

func (k *known) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case k.asking <- struct{}{}:
		return func() { <-k.asking }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Resource finds the kind for a TYPE as kubectl does: deploy, deployments, Deployment,
// deployments.apps, deployments.v1.apps. If several groups have the kind, Resource chooses the
// group that the server lists first. The version is the preferred one, unless the TYPE has a
// version. The error is a *NoTypeError if there is no such kind.
func (d *Discovery) Resource(ctx context.Context, text string) (object.Kind, error) {
	return first(d.ofType(ctx, text, func(t catalogue) ([]schema.GroupVersionKind, error) {
		gvk, err := t.kindOf(ctx, text)
		return []schema.GroupVersionKind{gvk}, err
	}))
}

// Preferred returns a kind at its preferred version. The error is a *NoTypeError if the server does
// not serve the kind.
func (d *Discovery) Preferred(ctx context.Context, gk schema.GroupKind) (object.Kind, error) {
	kind, err := first(d.ofType(ctx, gk.String(), func(t catalogue) ([]schema.GroupVersionKind, error) {
		mapping, err := t.mapper.RESTMappingWithContext(ctx, gk)
		if err != nil {
			return nil, err
		}
		return []schema.GroupVersionKind{mapping.GroupVersionKind}, nil
	}))
	if none, ok := errors.AsType[*NoTypeError](err); ok {
		if silent, is := none.Err.(*silentError); is && !silent.has(gk.Group) { //nolint:errorlint // Others wrap nothing of this type.
			none.Err = nil // The servers that do not answer belong to other groups.
		}
	}
	return kind, err
}

// Resources is like Resource, but TYPE may also be a category, such as all.
func (d *Discovery) Resources(ctx context.Context, text string) ([]object.Kind, error) {
	return d.ofType(ctx, text, func(t catalogue) (gvks []schema.GroupVersionKind, err error) {
		members, _ := restmapper.NewDiscoveryCategoryExpanderWithContext(t.view).ExpandWithContext(ctx, text)
		for _, member := range members {
			gvk, err := t.mapper.KindForWithContext(ctx, member.WithVersion(""))
			if err != nil {
				return nil, err
			}
			gvks = append(gvks, gvk)
		}
		if len(members) > 0 {
			return gvks, nil
		}
		gvk, err := t.kindOf(ctx, text)
		return []schema.GroupVersionKind{gvk}, err
	})
}

// ofType finds kinds in the list of everything, and asks the server how it serves each of them. If an
// old list has them otherwise, ofType finds them again in what the server serves now: the kinds may be
// served at another version, or the type may be the name of another kind.
func (d *Discovery) ofType(
	ctx context.Context, text string, find func(catalogue) ([]schema.GroupVersionKind, error),
) ([]object.Kind, error) {
	for renewed := false; ; renewed = true {
		var listed []object.Kind
		err := d.search(ctx, text, func(t catalogue) (err error) {
			listed, err = t.kinds(find(t))
			return err
		})
		if err != nil {
			return nil, err
		}
		kinds := make([]object.Kind, len(listed))
		changed := false
		for i, was := range listed {
			if kinds[i], err = d.Kind(ctx, was.GVK); err != nil {
				break
			}
			changed = changed || kinds[i].Resource != was.Resource || !slices.Equal(kinds[i].ShortNames, was.ShortNames)
		}
		missing, dropped := errors.AsType[*NoKindError](err)
		unanswered, unknown := errors.AsType[*KindUnknownError](err)
		switch {
		case (dropped || changed) && !renewed:
			if err := d.renew(ctx); err != nil {
				return nil, err
			}
			continue
		case dropped:
			return nil, &NoTypeError{Type: text, Err: missing.Err}
		case unknown:
			return nil, &NoTypeError{Type: text, Err: unanswered}
		case err != nil:
			return nil, err
		}
		return kinds, nil
	}
}

func first(kinds []object.Kind, err error) (object.Kind, error) {
	if err != nil || len(kinds) == 0 {
		return object.Kind{}, err
	}
	return kinds[0], nil
}

// TypeNames returns the types that the server serves, in the form that kubectl completes:
// deployments.apps, pods.
func (d *Discovery) TypeNames(ctx context.Context) ([]string, error) {
	var names []string
	err := d.search(ctx, "", func(t catalogue) error {
		names = t.names(func(gr schema.GroupResource, _ metav1.APIResource) []string { return []string{gr.String()} })
		return nil
	})
	return names, err
}
