package request

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cluster/answer"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// attempt is one try of a request. The transport and the warnings find it in the
// context.
type attempt struct {
	// about are the objects that the request concerns.
	about []object.Ref
	// quiet: its warnings are for nobody.
	quiet bool
	// retryAfter is what the server asks to wait; 0 where it asks nothing.
	retryAfter time.Duration
	// heard is when the request went out or something of its answer came in, in
	// nanoseconds; 0 while it waits for credentials.
	heard atomic.Int64
	// wrote is set once something was sent that changes the cluster; nil where
	// nobody asks.
	wrote *atomic.Bool
	// unguarded: the guard of the run is not asked about it.
	unguarded bool
}

func (a *attempt) hear() { a.heard.Store(time.Now().UnixNano()) }

// quietSince returns when something was last heard of the request, and whether
// it was sent at all.
func (a *attempt) quietSince() (since time.Time, sent bool) {
	nanos := a.heard.Load()
	return time.Unix(0, nanos), nanos != 0
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// attemptOf returns the attempt that ctx belongs to, an empty one for a request
// that is nobody's, so that callers need not ask.
func attemptOf(ctx context.Context) *attempt {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return a
	}
	return &attempt{}
}

// transport is the part of a request's way right above the connection, below
// authentication. It numbers requests, and it takes from client-go what makes it
// try again by itself, silently and ten times over: that is done in [Sender.Do],
// where the user is told.
type transport struct {
	next http.RoundTripper
	run  string
	// base is what comes before every path on the server.
	base  string
	sent  *atomic.Int64
	clock *Clock
	// guard is asked before each write; nil if there is none.
	guard Guard
}

// Origin is where the requests of a run come from.
type Origin struct {
	// Run begins the Audit-ID of each; empty leaves that to the server.
	Run string
	// Sent counts them; nil counts those of one client by themselves.
	Sent *atomic.Int64
	// Guard decides whether a write may leave; nil lets all of them pass.
	Guard Guard
}

// newTransport returns what makes transports that count together.
func newTransport(from Origin, base string, clock *Clock) func(http.RoundTripper) http.RoundTripper {
	if from.Sent == nil {
		from.Sent = &atomic.Int64{}
	}
	return func(next http.RoundTripper) http.RoundTripper {
		return &transport{next: next, run: from.Run, base: base, sent: from.Sent, clock: clock, guard: from.Guard}
	}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.guard != nil && writes(req) && !attemptOf(req.Context()).unguarded {
		return t.guarded(req, t.send)
	}
	return t.send(req)
}

// send sends the request once.
func (t *transport) send(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if t.run != "" {
		req = req.Clone(ctx) // A RoundTripper must not change its request.
		req.Header.Set("Audit-ID", t.run+"-"+strconv.FormatInt(t.sent.Add(1), 10))
	}
	a := attemptOf(ctx)
	a.hear()
	first := a.wrote != nil && writes(req) && a.wrote.CompareAndSwap(false, true)
	began := time.Now()
	resp, err := t.next.RoundTrip(req)
	if errors.Is(err, errStale) {
		if first {
			a.wrote.Store(false)
		}
		return nil, err
	}
	if err != nil {
		return nil, asLost(ctx, err)
	}
	a.hear()
	if isPage(resp) {
		_ = resp.Body.Close()
		return nil, &pageError{host: req.URL.Scheme + "://" + req.URL.Host, code: resp.StatusCode}
	}
	t.clock.hear(resp.Header, began, time.Now())
	a.retryAfter = retryAfter(resp.Header.Get("Retry-After"))
	resp.Header.Del("Retry-After")
	resp.Body = &body{ReadCloser: resp.Body, ctx: ctx}
	switch err := answer.Catalogue(t.base, req.URL.Path, resp); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &lostError{errCutShort}
	case err != nil:
		return nil, err
	}
	return resp, nil
}

// isPage reports whether an answer is a web page that claims to be what was asked
// for: a login page, mostly, to which a proxy has led us. No API server sends one.
func isPage(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/html" && resp.StatusCode < http.StatusMultipleChoices
}

// writes reports whether a request is to change something.
func writes(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return !isDryRun(req) && !isQuestion(req)
}

func isDryRun(req *http.Request) bool { return req.URL.Query().Has("dryRun") }

// WrappedRoundTripper lets apimachinery see what is below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// retryAfter reads both forms of the header (RFC 9110, 10.2.3).
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// body is the body of an answer. It tells a connection that broke from the end.
type body struct {
	io.ReadCloser
	ctx context.Context
}

func (a *body) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	attemptOf(a.ctx).hear()
	if err != nil && !errors.Is(err, io.EOF) {
		err = asLost(a.ctx, err)
	}
	return n, err
}

// lostError says that no answer came, or not all of it. What broke a connection
// often has no type in net/http and http2; where it broke is certain. It neither
// shows nor unwraps its cause: client-go would know it, and try again.
type lostError struct{ cause error }

// Broken says that a connection was lost, and by what.
func Broken(cause error) error { return &lostError{cause} }

func (e *lostError) Error() string { return "no answer from the API server" }

func asLost(ctx context.Context, err error) error {
	_, silent := errors.AsType[*stalledError](context.Cause(ctx))
	if !silent && ctx.Err() != nil || refused(err) {
		return err
	}
	return &lostError{err}
}

// refused reports whether both sides spoke, and one declined: waiting changes
// nothing about that.
func refused(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		name        x509.HostnameError
		invalid     x509.CertificateInvalidError
		noTLS       tls.RecordHeaderError
		address     *net.AddrError
		op          *net.OpError
	)
	switch {
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid),
		errors.As(err, &noTLS), errors.As(err, &address):
		return true
	case errors.As(err, &op):
		return op.Op == "remote error" // crypto/tls's word for an alert of the server's
	default:
		return false
	}
}

// BasePath returns what comes before every path on the server, for one behind a gateway:
// "/k8s/clusters/c-1", or "" where there is nothing. It has no slash at its end.
func BasePath(config *rest.Config) string {
	u, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "" // There is no client of such a configuration.
	}
	return strings.TrimSuffix(path.Clean("/"+u.Path), "/")
}
