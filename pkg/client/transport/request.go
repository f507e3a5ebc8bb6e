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

// Request describes a request, except for how to send it.
type Request struct {
	// Ref is the object of the request, without a name if the request concerns a kind.
	Ref object.Ref
	// About are the objects that the server's warnings concern; Ref alone if nil.
	About []object.Ref
	// Guarded requests are bound to a resource version: a conflict because it is no
	// longer current is an answer.
	Guarded bool
	// Creates makes an object that is there a conflict. After an attempt without an answer,
	// that object may be the one that this request has created.
	Creates bool
	// NewlyServed requests are about a kind that was not served a moment ago. If several
	// API servers share the work, some may lag behind.
	NewlyServed bool
	// Quiet requests are internal: their warnings are not shown.
	Quiet bool
	// Bulk requests take as long as their data takes to move, so their time says nothing
	// about the server.
	Bulk bool
	// Patience names what the time for retries is shared with: all requests of that name,
	// until one of them is answered. A server that does not say what it serves is given up
	// once, and not kind by kind. That time bounds silence as well, since these are questions
	// that a server answers from its memory; other requests may have to wait for webhooks or
	// for etcd, and a server that is well may take as long for them as it likes.
	Patience string
	// Asked, if it is not nil, is closed once the answer is needed. Until then the request is a
	// prefetch: it is not reported, and a failure waits until its result is needed.
	Asked <-chan struct{}
	// wrote: it was sent to change something, and the server has not said that it
	// did not.
	wrote *atomic.Bool
}

// ahead reports whether nothing needs the answer yet.
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

// GroupPath returns where a group version is served.
func GroupPath(group, version string) []string {
	if group == "" {
		return []string{"/api", version}
	}
	return []string{"/apis", group, version}
}

// ResourcePath returns where objects of the kind are served.
func ResourcePath(kind object.Kind, namespace string, rest ...string) []string {
	path := GroupPath(kind.GVK.Group, kind.GVK.Version)
	if kind.Namespaced {
		path = append(path, "namespaces", namespace)
	}
	return append(append(path, kind.Resource), rest...)
}

// Read sends a request and reads the whole answer. Unlike DoRaw, Stream decodes the
// server's errors and passes on its warnings.
func Read(ctx context.Context, r *rest.Request) ([]byte, error) {
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // It was read, or it failed before.
	return io.ReadAll(body)
}

// firstPatience is how long requests wait for the connection that another one opens, before
// each opens one for itself.
const firstPatience = 2 * time.Second

// Opening is the first connection of a run. All requests that are ready before it is there
// wait for it: net/http would open a connection for each of them, with a handshake each,
// and close all but one. The zero value waits for the first request to open it.
type Opening struct {
	begun atomic.Bool
	once  sync.Once
	made  sync.Once
	done  chan struct{}

	// keep holds what client-go's cache made for the connection that was opened early. The
	// cache holds it weakly: were it collected, requests would get a transport of their own,
	// and open another connection.
	keep http.RoundTripper
}

// OpenEarly begins to open the connection that requests by this configuration will use, and sends
// no request over it. It does so only where a connection is nothing but TCP and TLS with
// credentials that are at hand: no proxy, no program that is run for a certificate. A failure does
// not matter here: the first request will fail too, and that is reported. It returns whether it is
// such a place.
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

// open makes a transport open the connection for a request that cannot be sent, and keep it.
// HTTP/2 keeps the connection of a request that fails. HTTP/1.1 closes it, but keeps one
// whose request was given up before it was there.
func open(transport *http.Transport, req *http.Request) {
	ctx, giveUp := context.WithCancel(req.Context())
	defer giveUp()
	given := make(chan struct{})
	resp, err := transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			if err == nil && state.NegotiatedProtocol != "h2" {
				giveUp()
				<-given // The connection is there when this returns.
			}
		},
	})))
	close(given)
	if err == nil {
		_ = resp.Body.Close() // It cannot be.
	}
}

// direct returns the transport that client-go uses for a configuration, and what is inside
// it; nil if a connection takes more than TCP and TLS.
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

// unsent returns a request for which a transport opens a connection, and which it then
// does not send, in HTTP/1.1 as in HTTP/2, since neither can have its path; nil if none can
// be made, or if it would be sent in the clear.
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

// wrap returns a transport that lets requests wait for the first connection.
func (o *Opening) wrap(next http.RoundTripper) http.RoundTripper { return &opened{next, o} }

type opened struct {
	next http.RoundTripper
	*Opening
}

// RoundTrip implements http.RoundTripper.
func (t *opened) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.begun.CompareAndSwap(false, true) {
		defer t.end()
		return t.next.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { t.end() },
		})))
	}
	t.wait(req.Context())
	attemptOf(req.Context()).hear() // The server was not asked until now.
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
	case <-ctx.Done(): // The transport says so.
	}
}

// WrappedRoundTripper gives apimachinery access to the inner transport.
func (t *opened) WrappedRoundTripper() http.RoundTripper { return t.next }

// Guard waits until a write may be sent, or returns why it may not. It is asked for each
// write at the last moment: when the request has its turn and its credentials, and the
// connection is next.
type Guard func(ctx context.Context) error

type unguardedKey struct{}

// Unguarded returns a context that bypasses the guard, for requests outside its
// protection, such as those for the lock itself.
func Unguarded(ctx context.Context) context.Context {
	return context.WithValue(ctx, unguardedKey{}, true)
}

func isUnguarded(ctx context.Context) bool { return ctx.Value(unguardedKey{}) != nil }

// refusedError says that a write was not sent: the guard refused it.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }

// Unwrap returns why.
func (e *refusedError) Unwrap() error { return e.err }

// guarded asks the guard about a write.
func (t *transport) guarded(req *http.Request) error {
	ctx := req.Context()
	if t.guard == nil || !writes(req) || attemptOf(ctx).unguarded {
		return nil
	}
	err := t.guard(ctx)
	if err == nil || ctx.Err() != nil { // It was waited for to the end of the request's time.
		return err
	}
	return &refusedError{err}
}

// isQuestion reports whether a request asks something by creating an object that the
// server does not keep.
func isQuestion(req *http.Request) bool {
	return req.Method == http.MethodPost &&
		(strings.Contains(req.URL.Path, "/apis/authorization.k8s.io/") || strings.Contains(req.URL.Path, "/apis/authentication.k8s.io/"))
}
