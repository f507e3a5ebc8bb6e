// Package discovery knows how an API server serves kinds: their names, what is cached of
// them, what was probably meant by a name, which kinds will come, which are certainly
// gone, and the schemas and annotations of their definitions.
//
// It is a part of package cluster, whose Client embeds it.
package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/retry"
)

// The questions what a server serves share their patience: those for its groups, which
// everything hangs on, those for the kinds of one group version, and those for schemas.
const (
	forGroups  = "groups"
	forKinds   = "kinds of groups"
	forSchemas = "schemas"
)

// Reader reads one object.
type Reader = func(ctx context.Context, kind object.Kind, ref object.Ref) (*unstructured.Unstructured, error)

// Options of a Discovery. All are needed.
type Options struct {
	// Cache is the result of [NewCache].
	Cache *Cache
	REST  *rest.RESTClient
	Send  *transport.Sender
	// Timeout is how long to keep trying while the server is away, or while it gives
	// answers that may pass.
	Timeout time.Duration
	// Get reads a definition.
	Get Reader
}

// Discovery says how one API server serves kinds. It may be used from many goroutines.
type Discovery struct {
	rest     *rest.RESTClient
	requests *transport.Sender
	cache    *Cache
	timeout  time.Duration
	get      Reader
	known    *known
	asking   singleflight.Group // for the kinds of group versions
}

// New returns a Discovery. Nothing is sent yet.
func New(o Options) *Discovery {
	return &Discovery{
		rest: o.REST, requests: o.Send, cache: o.Cache, timeout: o.Timeout, get: o.Get, known: newKnown(),
	}
}

// NewlyServed reports whether a kind was not served when the run began.
func (d *Discovery) NewlyServed(gvk schema.GroupVersionKind) bool { return d.known.isNewlyServed(gvk) }

// Know records how the server serves a kind, from a caller that has just learnt it; young
// is set if it was not served when the run began.
func (d *Discovery) Know(kind object.Kind, young bool) { d.known.put(kind, young) }

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

// once returns a function that calls f once for each argument. Other callers wait meanwhile.
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

// until asks repeatedly, at growing intervals, until it is done or the time is over. It
// returns an error if ctx ended.
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
