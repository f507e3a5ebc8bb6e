// Package transport sends requests to an API server with retries, at a bounded width, waits for a
// server that is away, classifies failures by type and reason, and checks each answer against its
// request. Start with [New] and [Sender.Do]. It knows nothing of lists or watches.
package transport

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

const (
	// MaxConcurrency is below the 100 streams that the API server allows on one
	// HTTP/2 connection.
	MaxConcurrency = 96
	// narrow is how many requests may be in progress before many small ones take no longer
	// than a large one.
	narrow = 12
	// attemptLimit is how long one request may take if the user sets no limit
	// (--request-timeout): twice the minute after which the API server itself ends a
	// request, so it is exceeded only if no server is working on it.
	attemptLimit = 2 * time.Minute
)

// Options of a Sender.
type Options struct {
	// Timeout is how long to keep trying while the server is away, or while it gives
	// answers that may pass. 0 tries once.
	Timeout time.Duration
	// Outage is how long to do so, if that is longer, unless the server is well and only a
	// webhook that it has to ask is not.
	Outage time.Duration
	// Concurrency bounds the parallel requests; 0 means [MaxConcurrency].
	Concurrency int
	// Telling is held while OnRetry or OnStall is called.
	Telling *sync.Mutex
	// OnRetry hears of requests that are tried again.
	OnRetry func(ref object.Ref, err error, in, left time.Duration)
	// Credentials is the program that gives credentials without asking the user; empty for none.
	// OnCredentials is called, repeatedly, while it has given none since then.
	Credentials   string
	OnCredentials func(since time.Time)
	// OnStall is called for silent requests; why says what is wrong with the server, nil if it
	// is healthy.
	OnStall func(ref object.Ref, since time.Time, within time.Duration, why error)
}

// Sender sends the requests of one run. It may be used from many goroutines.
type Sender struct {
	rest *rest.RESTClient
	// timeout is how long to keep trying, hooks if only a webhook is at fault, attempt the bound
	// on a single request; 0 if the configuration has one.
	timeout, hooks, attempt time.Duration
	onRetry                 func(object.Ref, error, time.Duration, time.Duration)
	onStall                 func(object.Ref, time.Time, time.Duration, error)
	credentials             string
	onCredentials           func(since time.Time)

	availability *availability
	budget       *retryBudget
	// slots are for the requests in progress; concurrency is how many there are.
	slots       *semaphore.Weighted
	concurrency int
}

// New returns a sender for requests of client.
func New(client *rest.RESTClient, o Options) *Sender {
	if o.Concurrency <= 0 {
		o.Concurrency = MaxConcurrency
	}
	s := &Sender{
		rest:    client,
		timeout: max(o.Timeout, o.Outage),
		hooks:   o.Timeout,
		onRetry: func(ref object.Ref, err error, in, left time.Duration) {
			if o.OnRetry != nil {
				o.Telling.Lock()
				defer o.Telling.Unlock()
				o.OnRetry(ref, err, in, left)
			}
		},
		onStall: func(ref object.Ref, since time.Time, within time.Duration, why error) {
			if o.OnStall != nil {
				o.Telling.Lock()
				defer o.Telling.Unlock()
				o.OnStall(ref, since, within, why)
			}
		},
		credentials: o.Credentials,
		onCredentials: func(since time.Time) {
			if o.OnCredentials != nil {
				o.Telling.Lock()
				defer o.Telling.Unlock()
				o.OnCredentials(since)
			}
		},
		budget:      newRetryBudget(max(o.Timeout, o.Outage)),
		slots:       semaphore.NewWeighted(int64(o.Concurrency)),
		concurrency: o.Concurrency,
	}
	if client.Client.Timeout == 0 {
		s.attempt = attemptLimit
	}
	s.availability = &availability{
		limit: s.timeout, ask: s.health, tell: s.onRetry,
		drop: func() { utilnet.CloseIdleConnectionsFor(client.Client.Transport) },
	}
	return s
}

// Prepare returns the configuration of everything that a run sends, discovery
// included. The clock learns from every answer.
func Prepare(config *rest.Config, from Origin, warnings *Warnings, clock *Clock) *rest.Config {
	c := rest.CopyConfig(config)
	// The server has priority and fairness (KEP-1040), and says when it is busy: a rate would
	// only be a guess.
	c.QPS, c.RateLimiter = -1, nil
	c.GroupVersion = nil
	c.ContentType, c.AcceptContentTypes = "application/json", "application/json"
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c.WarningHandler, c.WarningHandlerWithContext = nil, warnings
	if from.Opening == nil {
		from.Opening = &Opening{}
	}
	if config.Transport == nil { // else what opens connections is not ours
		c.Wrap(from.Opening.wrap)
	}
	c.Wrap(newTransport(from, BasePath(config), clock))
	return c
}

// Carry returns ctx as part of the attempt that the other context belongs to: for a
// stream that outlives the request that opened it.
func Carry(ctx, attempt context.Context) context.Context {
	return withAttempt(ctx, attemptOf(attempt))
}

// health asks whether the server is there. /readyz covers the steps of a start, such as
// the roles by which other clients are admitted; a server that refuses us /readyz is
// there as well. An answer other than ok does not come from an API server.
func (s *Sender) health(ctx context.Context) (health, error) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(withAttempt(ctx, &attempt{}), patience)
	defer cancel()
	body, err := Read(ctx, s.rest.Get().AbsPath("/readyz"))
	if err == nil && !bytes.EqualFold(bytes.TrimSpace(body), []byte("ok")) {
		err = Wrong("/readyz answers something other than ok")
	}
	switch code := StatusOf(err).Code; {
	case err == nil, code == http.StatusUnauthorized, code == http.StatusNotFound:
		return ready, nil
	case code == http.StatusForbidden, code == http.StatusInternalServerError, code == http.StatusTooManyRequests:
		return starting, &startingError{code, failingChecks(err)}
	default:
		return away, CauseOf(err)
	}
}

// Narrow reports whether the limit on concurrent requests is so low that many small ones take
// longer than one large one.
func (s *Sender) Narrow() bool { return s.concurrency < narrow }

// Ready asks the server whether it is ready to answer, and returns why not.
func (s *Sender) Ready(ctx context.Context) error {
	if health, err := s.health(ctx); health != ready {
		return err
	}
	return nil
}
