package transport

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// transport sits right above the connection, below authentication. It numbers requests,
// and it disables client-go's own retries, which are silent and up to ten: [Sender.Do]
// retries instead, and reports that to the user.
type transport struct {
	next http.RoundTripper
	run  string
	// base precedes every path on the server.
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
	// Opening is the first connection; nil leaves it to the first request.
	Opening *Opening
}

// newTransport returns a function that creates transports with a common counter.
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
	if err := t.guarded(req); err != nil {
		return nil, err
	}
	ctx := req.Context()
	if t.run != "" {
		req = req.Clone(ctx) // A RoundTripper must not change its request.
		req.Header.Set("Audit-ID", t.run+"-"+strconv.FormatInt(t.sent.Add(1), 10))
	}
	a := attemptOf(ctx)
	a.hear()
	if a.wrote != nil && writes(req) {
		a.wrote.Store(true)
	}
	began := time.Now()
	resp, err := t.next.RoundTrip(req)
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
	a.said, err = Catalogue(t.base, req.URL.Path, resp)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &lostError{errCutShort}
	case err != nil:
		return nil, err
	}
	return resp, nil
}

// isPage reports whether an answer is a web page in place of what was asked for: usually
// a login page to which a proxy has redirected us. No API server sends one.
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

// WrappedRoundTripper gives apimachinery access to the inner transport.
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

// body is the body of an answer. It distinguishes a broken connection from the end.
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

// BasePath returns the prefix of every path on a server behind a gateway:
// "/k8s/clusters/c-1", or "" if there is none. It has no slash at its end.
func BasePath(config *rest.Config) string {
	u, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return "" // No client can be made from such a configuration.
	}
	return strings.TrimSuffix(path.Clean("/"+u.Path), "/")
}
