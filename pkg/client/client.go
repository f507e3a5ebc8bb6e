// Package client provides the only access to the API server. It finds kinds, reads and applies
// objects, retries requests and collects warnings. Start with [New]. It knows nothing about plans,
// owners or output.
package client

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/discovery"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/listwatch"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options configure a Client. REST is required.
type Options struct {
	REST *rest.Config
	// CacheDir is kubectl's --cache-dir. If it is empty, the cache is in memory.
	CacheDir string
	// ServerTimeout is how long the client retries when the server is unreachable or returns a
	// transient error. If it is 0, the client tries once.
	ServerTimeout time.Duration
	// Outage replaces ServerTimeout if it is longer, except for webhook errors.
	Outage time.Duration
	// Concurrency bounds concurrent requests; 0 means 96.
	Concurrency int
	// Run is the prefix of the Audit-ID of each request.
	Run string
	// Sent counts the requests of all clients of the run. If it is nil, the client counts its own.
	Sent    *atomic.Int64
	Guard   transport.Guard
	Opening *transport.Opening
	// OnWarning is called once for each warning about an object. The zero Ref means that the
	// request concerned no object.
	OnWarning func(object.Ref, string)
	// OnRetry is called before a request is retried. Its parameters include the pause before the
	// retry (in) and the remaining time for retries (left), which is 0 if it depends on the server.
	// The Ref has no name if the request concerns a kind. The zero Ref represents the server.
	OnRetry func(ref object.Ref, err error, in, left time.Duration)
	// OnReachable is called when the server answers again, after an OnRetry with the zero Ref.
	OnReachable func()
	// OnStall is called repeatedly while one request gets no response although others do. The
	// request has received nothing since the given time (since), and may last for the given
	// duration (within). why is nil if the server is healthy. The Ref is as in OnRetry.
	//
	// The functions whose names begin with On are never called concurrently.
	OnStall func(ref object.Ref, since time.Time, within time.Duration, why error)
	// Credentials is the name of a non-interactive credential program, if there is one.
	// OnCredentials is called repeatedly while that program runs.
	Credentials   string
	OnCredentials func(since time.Time)
	// OnPolling is called if objects are polled instead of watched, because we do not have
	// permission to use the verb. It is called once for each kind and namespace.
	OnPolling func(kind object.Kind, namespace, verb string)
}

// Client is the connection of one run to one API server. It is safe for concurrent use.
type Client struct {
	*discovery.Discovery

	rest     *rest.RESTClient
	requests *transport.Sender
	lists    *listwatch.Source
	clock    *transport.Clock

	hooks admissionHooks
	held  held
	// across remembers which lists across all namespaces do not pay.
	across acrossNamespaces
}

// Now returns the current time by the server's clock, which also sets the times in its objects.
func (c *Client) Now() time.Time { return c.clock.Now() }

// UnreachableError says that the server was unreachable for longer than ServerTimeout.
type UnreachableError = transport.UnreachableError

// NoKindError says that the server does not serve a kind.
type NoKindError = discovery.NoKindError

// NoTypeError says that the server serves no type of the given name.
type NoTypeError = discovery.NoTypeError

// KindUnknownError says that the server behind the kind's API does not answer.
type KindUnknownError = discovery.KindUnknownError

// New returns a client. It sends no request.
func New(o Options) (*Client, error) {
	var reporting sync.Mutex
	clock := &transport.Clock{}
	config := transport.Prepare(o.REST, transport.Origin{Run: o.Run, Sent: o.Sent, Guard: o.Guard, Opening: o.Opening}, transport.NewWarnings(&reporting, o.OnWarning), clock)
	cache, err := discovery.NewCache(config, o.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &Client{
		rest: client,
		requests: transport.New(client, transport.Options{
			Timeout: o.ServerTimeout, Outage: o.Outage, Concurrency: o.Concurrency,
			Reporting: &reporting, OnRetry: o.OnRetry, OnReachable: o.OnReachable, OnStall: o.OnStall, Credentials: o.Credentials, OnCredentials: o.OnCredentials,
			Renewable: transport.Renewable(o.REST),
		}),
		clock: clock,
	}
	c.Discovery = discovery.New(discovery.Options{Cache: cache, REST: client, Send: c.requests, Timeout: max(o.ServerTimeout, o.Outage), Get: c.Get})
	c.lists = &listwatch.Source{REST: client, Send: c.requests, NewlyServed: c.NewlyServed, OnPolling: onPolling(&reporting, o.OnPolling)}
	return c, nil
}

func onPolling(reporting *sync.Mutex, report func(object.Kind, string, string)) func(object.Kind, object.Selection, string) {
	type place struct{ resource, namespace string }
	reported := map[place]bool{}
	return func(kind object.Kind, sel object.Selection, verb string) {
		reporting.Lock()
		defer reporting.Unlock()
		at := place{kind.GVR().GroupResource().String(), sel.Namespace}
		if report == nil || reported[at] {
			return
		}
		reported[at] = true
		report(kind, sel.Namespace, verb)
	}
}

// Log selects the end of a container's log.
type Log struct {
	Namespace, Pod, Container string
	Previous                  bool
	Lines, Bytes              int
}

// Log reads the end of a container's log.
func (n *NoRetry) Log(ctx context.Context, l Log) (string, error) {
	ref := object.Ref{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: l.Namespace, Name: l.Pod}
	var text []byte
	err := n.do(ctx, ref, func(ctx context.Context) error {
		r := n.client.rest.Get().AbsPath("api", "v1", "namespaces", l.Namespace, "pods", l.Pod, "log").
			SetHeader("Accept", "*/*").
			Param("container", l.Container).
			Param("tailLines", strconv.Itoa(l.Lines)).
			Param("limitBytes", strconv.Itoa(l.Bytes))
		if l.Previous {
			r.Param("previous", "true")
		}
		body, err := r.Stream(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		text, err = io.ReadAll(io.LimitReader(body, int64(l.Bytes)))
		return err
	})
	return string(text), err
}
