// Package client is the only access to the API server: served kinds, reads, server-side apply, and
// for every request retries, limited concurrency and warnings. Start with [New]. It knows nothing
// of plans, owners or output.
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

// Options of a Client. REST is required.
type Options struct {
	// REST contains the server's address and our credentials. New copies it.
	REST *rest.Config
	// CacheDir is kubectl's --cache-dir, where the served kinds are cached; if empty, the cache is
	// in memory.
	CacheDir string
	// ServerTimeout is how long to retry while the server is unreachable or an error may pass; 0
	// tries once.
	ServerTimeout time.Duration
	// Outage extends ServerTimeout, except for errors of a webhook that the server calls.
	Outage time.Duration
	// Concurrency bounds concurrent requests; 0 means 96.
	Concurrency int
	// Run is the prefix of each request's Audit-ID, which links the server's audit log with the
	// output of a run.
	Run string
	// Sent counts the requests of all clients of the run; nil counts only this one's.
	Sent *atomic.Int64
	// Guard may refuse a write; nil refuses none.
	Guard transport.Guard
	// Opening is the run's first connection, if it was opened early or is shared by clients; nil
	// leaves it to the first request.
	Opening *transport.Opening
	// OnWarning receives the server's warnings, each once for an object. The zero Ref stands for a
	// request that concerns no object.
	OnWarning func(object.Ref, string)
	// OnRetry is called before a request is retried. in is the pause before that; left is the
	// remaining time for retries, 0 if that depends on the server. The Ref has no name if the
	// request concerns a kind; the zero Ref stands for the server.
	OnRetry func(ref object.Ref, err error, in, left time.Duration)
	// OnStall is called repeatedly for a request without any sign of life since the given time,
	// while the server answers others; within is how long it may take. The Ref is as in OnRetry.
	//
	// These functions are never called concurrently.
	OnStall func(ref object.Ref, since time.Time, within time.Duration, why error)
	// Credentials is a non-interactive credential program; empty if there is none. OnCredentials is
	// called repeatedly while the program has been running since the given time.
	Credentials   string
	OnCredentials func(since time.Time)
	// OnPolling is called, once for each kind and namespace, if objects are polled instead of
	// watched because we may not use verb.
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
}

// Now returns the server's time, for comparison with the times in its objects.
func (c *Client) Now() time.Time { return c.clock.Now() }

// Errors that callers of a Client need.

// UnreachableError says that the server was unreachable for longer than ServerTimeout.
type UnreachableError = transport.UnreachableError

// NoKindError says that the server does not serve a kind.
type NoKindError = discovery.NoKindError

// NoTypeError says that the server does not serve the type of that name.
type NoTypeError = discovery.NoTypeError

// UntoldKindError says that the server behind a kind's API does not answer.
type UntoldKindError = discovery.UntoldKindError

// New returns a client, without sending anything.
func New(o Options) (*Client, error) {
	var telling sync.Mutex
	clock := &transport.Clock{}
	config := transport.Prepare(o.REST, transport.Origin{Run: o.Run, Sent: o.Sent, Guard: o.Guard, Opening: o.Opening}, transport.NewWarnings(&telling, o.OnWarning), clock)
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
			Telling: &telling, OnRetry: o.OnRetry, OnStall: o.OnStall, Credentials: o.Credentials, OnCredentials: o.OnCredentials,
		}),
		clock: clock,
	}
	c.Discovery = discovery.New(discovery.Options{Cache: cache, REST: client, Send: c.requests, Timeout: max(o.ServerTimeout, o.Outage), Get: c.Get})
	c.lists = &listwatch.Source{REST: client, Send: c.requests, NewlyServed: c.NewlyServed, OnPolling: onPolling(&telling, o.OnPolling)}
	return c, nil
}

// onPolling returns a function that calls tell once for each kind and namespace.
func onPolling(telling *sync.Mutex, tell func(object.Kind, string, string)) func(object.Kind, object.Selection, string) {
	type place struct{ resource, namespace string }
	told := map[place]bool{}
	return func(kind object.Kind, sel object.Selection, verb string) {
		telling.Lock()
		defer telling.Unlock()
		at := place{kind.GVR().GroupResource().String(), sel.Namespace}
		if tell == nil || told[at] {
			return
		}
		told[at] = true
		tell(kind, sel.Namespace, verb)
	}
}

// Log identifies the end of a container's log.
type Log struct {
	Namespace, Pod, Container string
	// Previous: read the log of the previous instance.
	Previous bool
	// Lines and Bytes bound the result.
	Lines, Bytes int
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
		defer func() { _ = body.Close() }() // It was read, or failed before.
		text, err = io.ReadAll(io.LimitReader(body, int64(l.Bytes)))
		return err
	})
	return string(text), err
}
