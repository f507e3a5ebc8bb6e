// Package transport sends requests to an API server. It retries them, limits their concurrency,
// waits for an unreachable server, and checks that each response belongs to its request (edge case
// 85). Start with [New] and [Sender.Do].
package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// transport disables client-go's own retries. client-go would retry a request up to ten times
// without reporting it. [Sender.Do] retries and reports instead.
type transport struct {
	Origin

	next  http.RoundTripper
	base  string
	clock *Clock
	token *tokenFile
}

// Origin is common to all requests of a run.
type Origin struct {
	// Run is the prefix of Audit-IDs. If it is empty, the server chooses them.
	Run string
	// Sent counts the requests of several clients. If it is nil, each client counts its own.
	Sent  *atomic.Int64
	Guard Guard
	// Opening is the shared first connection. If it is nil, the first request opens a connection.
	Opening *Opening
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := t.guarded(req); err != nil {
		return nil, err
	}
	ctx := req.Context()
	req = t.token.fresh(req)
	if t.Run != "" {
		req = req.Clone(ctx) // A RoundTripper must not change its request.
		req.Header.Set("Audit-ID", t.Run+"-"+strconv.FormatInt(t.Sent.Add(1), 10))
	}
	a := attemptOf(ctx)
	a.receivedNow()
	a.reads = req.Method == http.MethodGet
	if a.wrote != nil && writes(req) {
		a.wrote.Store(true)
	}
	began := time.Now()
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, asLost(ctx, err)
	}
	a.receivedNow()
	t.token.onResponse(resp)
	if isPage(resp) {
		_ = resp.Body.Close()
		return nil, &pageError{host: req.URL.Scheme + "://" + req.URL.Host, code: resp.StatusCode}
	}
	t.clock.compare(resp.Header, began, time.Now())
	a.retryAfter = retryAfter(resp.Header.Get("Retry-After"))
	resp.Header.Del("Retry-After")
	resp.Body = &body{ReadCloser: resp.Body, ctx: ctx}
	a.message, err = Catalogue(t.base, req.URL.Path, resp)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &lostError{errCutShort}
	case err != nil:
		return nil, err
	}
	return resp, nil
}

func isPage(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/html" && resp.StatusCode < http.StatusMultipleChoices
}

func writes(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return !req.URL.Query().Has("dryRun") && !isQuestion(req)
}

func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// The header has two forms (RFC 9110, 10.2.3).
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

type body struct {
	io.ReadCloser
	ctx context.Context
}

func (a *body) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	attemptOf(a.ctx).receivedNow()
	if err != nil && !errors.Is(err, io.EOF) {
		err = asLost(a.ctx, err)
	}
	return n, err
}

// BasePath returns the prefix of every path on a server behind a gateway, such as
// "/k8s/clusters/c-1". It has no trailing slash, and may be empty.
func BasePath(config *rest.Config) string {
	u, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "" // New will fail with this error.
	}
	return strings.TrimSuffix(path.Clean("/"+u.Path), "/")
}

const (
	// MaxConcurrency is below the 100 streams that the API server allows on one HTTP/2 connection.
	MaxConcurrency = 96
	// With fewer slots, many small requests take longer than a large one.
	narrow = 12
	// attemptLimit is the time limit for one attempt if --request-timeout is not set. The API
	// server itself ends a request after a minute.
	attemptLimit = 2 * time.Minute
)

// Options are the options of a Sender.
type Options struct {
	// Timeout is how long to keep retrying when the server is unreachable or an error is transient.
	// With 0, there is only one attempt.
	Timeout time.Duration
	// Outage replaces Timeout if it is longer, except for webhook errors.
	Outage time.Duration
	// Concurrency limits concurrent requests; 0 means [MaxConcurrency].
	Concurrency int
	// Reporting is held while any of the callbacks runs.
	Reporting *sync.Mutex
	OnRetry   func(ref object.Ref, err error, in, left time.Duration)
	// OnReachable is called when the server answers again, after an OnRetry with the zero Ref.
	OnReachable func()
	// Credentials is the name of a non-interactive credential program, if there is one.
	// OnCredentials is called repeatedly while that program runs.
	Credentials   string
	OnCredentials func(since time.Time)
	// Renewable is set if client-go replaces a rejected credential by calling a program or reading
	// a file again.
	Renewable bool
	// OnStall is called repeatedly for a request that has no response yet. why is nil if the server
	// is healthy.
	OnStall func(ref object.Ref, since time.Time, within time.Duration, why error)
}

// Sender sends the requests of one run. It is safe for concurrent use.
type Sender struct {
	rest *rest.RESTClient
	// timeout is the time limit for retries, and hooks is the limit if only a webhook is at fault.
	// attempt is the time limit for one attempt; it is 0 if the configuration has its own limit.
	timeout, hooks, attempt time.Duration
	onRetry                 func(object.Ref, error, time.Duration, time.Duration)
	outages                 *outages
	onStall                 func(object.Ref, time.Time, time.Duration, error)
	credentials             string
	onCredentials           func(since time.Time)
	renewable               bool

	availability *availability
	budget       *retryBudget
	slots        *semaphore.Weighted
	concurrency  int
}

// New returns a sender for the requests of a client.
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
				o.Reporting.Lock()
				defer o.Reporting.Unlock()
				o.OnRetry(ref, err, in, left)
			}
		},
		onStall: func(ref object.Ref, since time.Time, within time.Duration, why error) {
			if o.OnStall != nil {
				o.Reporting.Lock()
				defer o.Reporting.Unlock()
				o.OnStall(ref, since, within, why)
			}
		},
		outages: &outages{over: func() {
			if o.OnReachable != nil {
				o.Reporting.Lock()
				defer o.Reporting.Unlock()
				o.OnReachable()
			}
		}},
		credentials: o.Credentials, renewable: o.Renewable,
		onCredentials: func(since time.Time) {
			if o.OnCredentials != nil {
				o.Reporting.Lock()
				defer o.Reporting.Unlock()
				o.OnCredentials(since)
			}
		},
		budget:      &retryBudget{limit: max(o.Timeout, o.Outage), open: map[failure]span{}},
		slots:       semaphore.NewWeighted(int64(o.Concurrency)),
		concurrency: o.Concurrency,
	}
	if client.Client.Timeout == 0 {
		s.attempt = attemptLimit
	}
	s.availability = &availability{
		limit: s.timeout, ask: s.health, report: s.onRetry, outages: s.outages,
		drop: func() { utilnet.CloseIdleConnectionsFor(client.Client.Transport) },
	}
	return s
}

// Prepare returns the configuration for all requests of a run. Every response sets the clock.
func Prepare(config *rest.Config, from Origin, warnings *Warnings, clock *Clock) *rest.Config {
	c := rest.CopyConfig(config)
	// The server limits the rate with priority and fairness (KEP-1040), and says when it is busy.
	c.QPS, c.RateLimiter = -1, nil
	c.GroupVersion = nil
	c.ContentType, c.AcceptContentTypes = "application/json", "application/json"
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c.WarningHandler, c.WarningHandlerWithContext = nil, warnings
	from.Opening = cmp.Or(from.Opening, &Opening{})
	from.Sent = cmp.Or(from.Sent, &atomic.Int64{})
	base, token := BasePath(config), &tokenFile{path: config.BearerTokenFile}
	if config.Transport == nil { // Otherwise we do not open the connections.
		c.Wrap(from.Opening.wrap)
	}
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &transport{Origin: from, next: next, base: base, clock: clock, token: token}
	})
	return c
}

// Carry returns ctx with the attempt of another context. It is for a stream, which outlives its
// request.
func Carry(ctx, attempt context.Context) context.Context {
	return withAttempt(ctx, attemptOf(attempt))
}

// health requests /readyz. A server that denies us access to /readyz is reachable, but may still be
// starting, because a starting server cannot authorize requests yet.
func (s *Sender) health(ctx context.Context) (health, error) {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(withAttempt(ctx, &attempt{}), patience)
	defer cancel()
	body, err := Read(ctx, s.rest.Get().AbsPath("/readyz"))
	if err == nil && !bytes.EqualFold(bytes.TrimSpace(body), []byte("ok")) {
		err = Wrong("/readyz did not return ok")
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

// Narrow reports whether many small requests take longer than a large one.
func (s *Sender) Narrow() bool { return s.concurrency < narrow }

// Ready returns an error if the server is not ready.
func (s *Sender) Ready(ctx context.Context) error {
	if health, err := s.health(ctx); health != ready {
		return err
	}
	return nil
}

// Clock is the API server's clock, taken from the Date header of responses. Times in objects must
// be compared with it: on a laptop whose clock is an hour fast, every Lease seems to have expired.
// The zero value is this machine's clock.
type Clock struct{ ahead atomic.Int64 }

// tolerance is the difference up to which clocks count as equal. A Date has whole seconds, and a
// response takes a moment.
const tolerance = 5 * time.Second

// Now returns the server's time. Before the first response, it returns this machine's time.
func (c *Clock) Now() time.Time {
	return time.Now().Add(time.Duration(c.ahead.Load()))
}

// sent and answered are times of this machine's clock.
func (c *Clock) compare(header http.Header, sent, answered time.Time) {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return
	}
	var ahead time.Duration
	switch end := date.Add(time.Second); {
	case date.After(answered.Add(tolerance)):
		ahead = date.Sub(answered)
	case end.Before(sent.Add(-tolerance)):
		ahead = end.Sub(sent)
	}
	// Keep the offset unless it is wrong, so that differences between times on this clock stay
	// exact.
	if known := time.Duration(c.ahead.Load()); (ahead - known).Abs() > tolerance {
		c.ahead.Store(int64(ahead))
	}
}
