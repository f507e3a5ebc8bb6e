package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options of a Client. REST is needed.
type Options struct {
	// REST says where the server is and who we are. It is copied.
	REST *rest.Config
	// CacheDir is the folder of kubectl's caches, its --cache-dir: what it knows of
	// the server's kinds is shared with kubectl. Empty keeps it in memory.
	CacheDir string
	// ServerTimeout is how long to keep trying while the server is away, or while
	// what it answers may pass. 0 tries once.
	ServerTimeout time.Duration
	// Concurrency bounds the requests that are under way at once; 0 means 96. How
	// many there are depends on what the server can take.
	Concurrency int
	// Run is sent with each request, as the beginning of its Audit-ID, so that
	// the server's audit log and the output of a run can be laid side by side.
	Run string
	// OnWarning hears the server's warnings, each text once for an object. The zero
	// Ref stands for requests that concern no object.
	OnWarning func(object.Ref, string)
	// OnRetry hears of requests that are tried again: in is the pause before, left
	// what remains of the time to keep trying, 0 where that depends on the server.
	// The Ref has no name where a request concerns a kind; the zero Ref stands for
	// the server as a whole.
	//
	OnRetry func(ref object.Ref, err error, in, left time.Duration)
	// OnSilence hears of a request of which nothing was heard since then, again and
	// again, while the server answers others: within is how long it may take. The Ref
	// is as that of OnRetry.
	//
	// None of them is called by two goroutines at once.
	OnSilence func(ref object.Ref, since time.Time, within time.Duration)
}

const (
	// maxConcurrency is below the 100 streams that the API server allows on one
	// HTTP/2 connection.
	maxConcurrency = 96
	// patience is how long one request may take where the user sets no limit
	// (--request-timeout): twice the minute after which the API server itself ends
	// a request, so that it passes only where nobody is working on it.
	patience = 2 * time.Minute
)

// Client talks to one API server on behalf of one run. It may be used from many
// goroutines.
type Client struct {
	rest      *rest.RESTClient
	discovery discovery.CachedDiscoveryInterfaceWithContext
	// timeout is Options.ServerTimeout, attempt the bound on a single request; 0
	// where the configuration has one.
	timeout, attempt time.Duration
	onRetry          func(object.Ref, error, time.Duration, time.Duration)
	onSilence        func(object.Ref, time.Time, time.Duration)

	kinds    *kinds
	hooks    admissionHooks
	outage   *outage
	troubles *troubles
	pace     *pace
	held     held
}

// New returns a client. Nothing is sent yet.
func New(o Options) (*Client, error) {
	if o.Concurrency <= 0 {
		o.Concurrency = maxConcurrency
	}
	var telling sync.Mutex
	config := prepare(o.REST, o.Run, newWarnings(&telling, o.OnWarning))
	known, err := newDiscovery(config, o.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &Client{
		rest:      client,
		discovery: known,
		timeout:   o.ServerTimeout,
		onRetry:   oneByOne(&telling, o.OnRetry),
		onSilence: silenceOneByOne(&telling, o.OnSilence),
		kinds:     newKinds(),
		troubles:  newTroubles(o.ServerTimeout),
		pace:      newPace(o.Concurrency),
	}
	if config.Timeout == 0 {
		c.attempt = patience
	}
	c.outage = &outage{
		limit: o.ServerTimeout, ask: c.health, tell: c.onRetry,
		drop: func() { utilnet.CloseIdleConnectionsFor(client.Client.Transport) },
	}
	return c, nil
}

// prepare returns the configuration of everything that a run sends, discovery
// included.
func prepare(config *rest.Config, run string, warnings rest.WarningHandlerWithContext) *rest.Config {
	c := rest.CopyConfig(config)
	// The server has priority and fairness (KEP-1040), and we have a pace: a limit
	// by the client would only be a guess.
	c.QPS, c.RateLimiter = -1, nil
	c.GroupVersion = nil
	c.ContentType, c.AcceptContentTypes = "application/json", "application/json"
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c.WarningHandler, c.WarningHandlerWithContext = nil, warnings
	c.Wrap(newTransport(run, BasePath(config)))
	return c
}

type onRetry = func(object.Ref, error, time.Duration, time.Duration)

func oneByOne(telling *sync.Mutex, tell onRetry) onRetry {
	return func(ref object.Ref, err error, in, left time.Duration) {
		if tell == nil {
			return
		}
		telling.Lock()
		defer telling.Unlock()
		tell(ref, err, in, left)
	}
}

func silenceOneByOne(telling *sync.Mutex, tell func(object.Ref, time.Time, time.Duration)) func(object.Ref, time.Time, time.Duration) {
	return func(ref object.Ref, since time.Time, within time.Duration) {
		if tell == nil {
			return
		}
		telling.Lock()
		defer telling.Unlock()
		tell(ref, since, within)
	}
}

// Version returns the server's version.
func (c *Client) Version(ctx context.Context) (*version.Info, error) {
	var info version.Info
	err := c.do(ctx, request{}, func(ctx context.Context) error {
		body, err := read(ctx, c.rest.Get().AbsPath("/version"))
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

// groupPath returns where a group version is served.
func groupPath(group, version string) []string {
	if group == "" {
		return []string{"/api", version}
	}
	return []string{"/apis", group, version}
}

// resourcePath returns where objects of the kind are served.
func resourcePath(kind object.Kind, namespace string, rest ...string) []string {
	path := groupPath(kind.GVK.Group, kind.GVK.Version)
	if kind.Namespaced {
		path = append(path, "namespaces", namespace)
	}
	return append(append(path, kind.Resource), rest...)
}
