package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Options of a Client. REST and Discovery are needed.
type Options struct {
	// REST says where the server is and who we are. It is copied.
	REST *rest.Config
	// Discovery is kubectl's cached client.
	Discovery discovery.CachedDiscoveryInterface
	// ServerTimeout is how long to keep trying while the server is away, or while
	// what it answers may pass. 0 tries once.
	ServerTimeout time.Duration
	// Concurrency bounds the requests that are under way at once; 0 means 96.
	Concurrency int
	// Run is sent with each request, as the beginning of its Audit-ID, so that
	// the server's audit log and the output of a run can be laid side by side.
	Run string
	// OnWarning hears the server's warnings, each text once for an object.
	OnWarning func(object.Ref, string)
	// OnRetry hears of requests that are tried again: in is the pause before, left
	// what remains of the time to keep trying. The zero Ref stands for the server
	// as a whole.
	OnRetry func(ref object.Ref, err error, in, left time.Duration)
	// Clock is for tests; nil is the real one.
	Clock clock.Clock
}

// maxConcurrency is below the number of streams that the API server allows on
// one HTTP/2 connection.
const maxConcurrency = 96

// Client talks to one API server on behalf of one run. It may be used from many
// goroutines.
type Client struct {
	rest      *rest.RESTClient
	discovery discovery.CachedDiscoveryInterfaceWithContext
	timeout   time.Duration
	clock     clock.Clock
	onRetry   func(object.Ref, error, time.Duration, time.Duration)

	kinds  kinds
	outage outage
	budget budget
	pace   *pace
}

// New returns a client. Nothing is sent yet.
func New(o Options) (*Client, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.OnRetry == nil {
		o.OnRetry = func(object.Ref, error, time.Duration, time.Duration) {}
	}
	if o.OnWarning == nil {
		o.OnWarning = func(object.Ref, string) {}
	}
	if o.Concurrency <= 0 {
		o.Concurrency = maxConcurrency
	}
	config := rest.CopyConfig(o.REST)
	// The server has priority and fairness, and we have a pace: a limit by the
	// client would only be a guess.
	config.QPS = -1
	config.RateLimiter = nil
	config.GroupVersion = nil
	config.ContentType = "application/json"
	config.AcceptContentTypes = "application/json"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.WarningHandler = nil
	config.WarningHandlerWithContext = &warnings{tell: o.OnWarning}
	config.Wrap(auditIDs(o.Run))
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Client{
		rest:      client,
		discovery: discovery.ToCachedDiscoveryInterfaceWithContext(o.Discovery),
		timeout:   o.ServerTimeout,
		clock:     o.Clock,
		onRetry:   o.OnRetry,
		budget:    budget{limit: o.ServerTimeout},
		pace:      newPace(o.Concurrency, o.Clock),
	}, nil
}

// Version returns the server's version.
func (c *Client) Version(ctx context.Context) (*version.Info, error) {
	var info version.Info
	err := c.do(ctx, object.Ref{}, func(ctx context.Context) error {
		body, err := send(ctx, c.rest.Get().AbsPath("/version"))
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

// send sends a request once and returns the answer's body. The error is the
// server's own status where it sent one, which DoRaw would leave undecoded.
// Retries are ours: client-go's would be silent.
func send(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := request.MaxRetries(0).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// resourcePath returns where objects of the kind are served.
func resourcePath(kind object.Kind, namespace string, rest ...string) []string {
	path := []string{"/apis", kind.GVK.Group, kind.GVK.Version}
	if kind.GVK.Group == "" {
		path = []string{"/api", kind.GVK.Version}
	}
	if kind.Namespaced {
		path = append(path, "namespaces", namespace)
	}
	return append(append(path, kind.Resource), rest...)
}
