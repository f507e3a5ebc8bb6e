package transport

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// Request describes a request to [Sender.Do], apart from how to send it.
type Request struct {
	// Ref is the object of the request; without a name, the request concerns a kind.
	Ref object.Ref
	// About lists the objects that warnings of the server concern; nil means Ref.
	About []object.Ref
	// Guarded: the request is bound to a resource version, so a conflict is not retried.
	Guarded bool
	// Creates: the request must create the object. A conflict after a lost answer may be with the
	// object that an earlier try created.
	Creates bool
	// NewlyServed: the kind was not served a moment ago, so one of several API servers may not know
	// it yet.
	NewlyServed bool
	// Quiet: warnings for this internal request are not shown.
	Quiet bool
	// Bulk: the request takes as long as its data, so its duration says nothing about the server.
	Bulk bool
	// Patience names a group of requests that share one time for retries until one of them is
	// answered, so that a server that does not say what it serves is given up once, not for each
	// kind. The time also bounds silence, because a server answers these requests from memory;
	// other requests may wait for webhooks or etcd.
	Patience string
	// Asked, if not nil, is closed when the answer is needed. Before that, the request is a
	// prefetch: it is not reported, and is not retried.
	Asked <-chan struct{}
	// wrote is set if the request was sent to change something and may have done so.
	wrote *atomic.Bool
}

// ahead reports whether the request is still a prefetch.
func (r Request) ahead() bool {
	if r.Asked == nil {
		return false
	}
	select {
	case <-r.Asked:
		return false
	default:
		return true
	}
}

// GroupPath returns the path of a group version.
func GroupPath(group, version string) []string {
	if group == "" {
		return []string{"/api", version}
	}
	return []string{"/apis", group, version}
}

// ResourcePath returns the path of objects of the kind.
func ResourcePath(kind object.Kind, namespace string, rest ...string) []string {
	path := GroupPath(kind.GVK.Group, kind.GVK.Version)
	if kind.Namespaced {
		path = append(path, "namespaces", namespace)
	}
	return append(append(path, kind.Resource), rest...)
}

// Read sends a request and reads the whole answer. Unlike DoRaw, Stream decodes the server's errors
// and handles its warnings.
func Read(ctx context.Context, r *rest.Request) ([]byte, error) {
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // It was read, or failed before.
	return io.ReadAll(body)
}

// firstPatience is how long requests wait for the connection that another request opens before they
// open their own.
const firstPatience = 2 * time.Second

// Opening is the first connection of a run, which concurrent requests wait for: net/http would open
// a connection for each of them, and close all but one. The zero value lets the first request open
// it.
type Opening struct {
	begun atomic.Bool
	once  sync.Once
	made  sync.Once
	done  chan struct{}

	// keep prevents client-go's cache, which has only a weak reference, from dropping the transport
	// of the connection that was opened early.
	keep http.RoundTripper
}

// OpenEarly begins to open the connection that requests with this configuration will use, without
// sending a request. It returns false, and does nothing, if the connection needs a proxy, a
// credential program or anything else beyond TCP and TLS. It ignores a failure, which the first
// request will report.
func (o *Opening) OpenEarly(config *rest.Config) bool {
	cached, transport := direct(config)
	req := unsent(config)
	if transport == nil || req == nil {
		return false
	}
	if transport.Proxy != nil {
		if proxy, err := transport.Proxy(req); proxy != nil || err != nil {
			return false
		}
	}
	if !o.begun.CompareAndSwap(false, true) {
		return true
	}
	o.keep = cached
	go func() {
		defer o.end()
		open(transport, req)
	}()
	return true
}

// open makes a transport open the connection for a request that cannot be sent, and keep it. HTTP/2
// keeps the connection of a failed request. HTTP/1.1 keeps it only if the request was cancelled
// before the connection was open.
func open(transport *http.Transport, req *http.Request) {
	ctx, giveUp := context.WithCancel(req.Context())
	defer giveUp()
	given := make(chan struct{})
	resp, err := transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			if err == nil && state.NegotiatedProtocol != "h2" {
				giveUp()
				<-given // The connection is open when this returns.
			}
		},
	})))
	close(given)
	if err == nil {
		_ = resp.Body.Close()
	}
}

// direct returns the transport that client-go uses for a configuration and the http.Transport
// inside; nil if a connection needs more than TCP and TLS.
func direct(config *rest.Config) (cached http.RoundTripper, inside *http.Transport) {
	if config.Transport != nil || config.Dial != nil || config.Proxy != nil ||
		config.ExecProvider != nil || config.AuthProvider != nil || os.Getenv("DISABLE_HTTP2") != "" {
		return nil, nil
	}
	c := &rest.Config{Host: config.Host, TLSClientConfig: config.TLSClientConfig, DisableCompression: config.DisableCompression}
	cached, err := rest.TransportFor(c)
	for next := cached; err == nil; {
		switch t := next.(type) {
		case *http.Transport:
			return cached, t
		case utilnet.RoundTripperWrapper:
			next = t.WrappedRoundTripper()
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// unsent returns a request for which a transport opens a connection but that it cannot send,
// because its path is invalid. It returns nil if the connection would not be encrypted.
func unsent(config *rest.Config) *http.Request {
	url, _, err := rest.DefaultServerUrlFor(config)
	if err != nil || url.Scheme != "https" {
		return nil
	}
	url.Opaque = "\x00"
	return &http.Request{Method: http.MethodGet, URL: url, Header: http.Header{}}
}

func (o *Opening) ended() chan struct{} {
	o.made.Do(func() { o.done = make(chan struct{}) })
	return o.done
}

func (o *Opening) end() { o.once.Do(func() { close(o.ended()) }) }

// wrap returns a transport that makes requests wait for the first connection.
func (o *Opening) wrap(next http.RoundTripper) http.RoundTripper { return &opened{next, o} }

type opened struct {
	next http.RoundTripper
	*Opening
}

func (t *opened) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.begun.CompareAndSwap(false, true) {
		defer t.end()
		return t.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { t.end() },
		})))
	}
	t.wait(req.Context())
	attemptOf(req.Context()).hear() // Until now, it was not sent.
	return t.next.RoundTrip(req)
}

func (t *opened) wait(ctx context.Context) {
	select {
	case <-t.ended():
		return
	default:
	}
	patience := time.NewTimer(firstPatience)
	defer patience.Stop()
	select {
	case <-t.ended():
	case <-patience.C:
	case <-ctx.Done(): // The transport reports this.
	}
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (t *opened) WrappedRoundTripper() http.RoundTripper { return t.next }

// Guard waits until a write may be sent, or returns why it must not be. It is called just before
// each write, when the request has its slot and credentials.
type Guard func(ctx context.Context) error

type unguardedKey struct{}

// Unguarded returns a context that bypasses the guard, for requests about the lock.
func Unguarded(ctx context.Context) context.Context {
	return context.WithValue(ctx, unguardedKey{}, true)
}

// refusedError says that a write was not sent, because the guard refused it.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }

func (e *refusedError) Unwrap() error { return e.err }

// guarded calls the guard before a write.
func (t *transport) guarded(req *http.Request) error {
	ctx := req.Context()
	if t.Guard == nil || !writes(req) || attemptOf(ctx).unguarded {
		return nil
	}
	err := t.Guard(ctx)
	if err == nil || ctx.Err() != nil { // The request ended first.
		return err
	}
	return &refusedError{err}
}

// isQuestion reports whether a request creates an object that the server does not store, such as an
// access review.
func isQuestion(req *http.Request) bool {
	return req.Method == http.MethodPost &&
		(strings.Contains(req.URL.Path, "/apis/authorization.k8s.io/") || strings.Contains(req.URL.Path, "/apis/authentication.k8s.io/"))
}
