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

// Request is what [Sender.Do] needs to know about a request, except how to send it.
type Request struct {
	// Ref says which object the request concerns. If Ref has no name, the request concerns the
	// kind.
	Ref object.Ref
	// About lists the objects that the server's warnings concern; nil means Ref.
	About []object.Ref
	// Guarded is set for a request that creates an object, or that is bound to a UID or a resource
	// version. A conflict is then not retried, unless it is about a quota.
	Guarded bool
	// Creates is set if the request must create the object. After a lost response, a conflict may
	// be with the object that an earlier attempt created.
	Creates bool
	// NewlyServed is set if one of several API servers may not know the kind yet.
	NewlyServed bool
	// Quiet is set for an internal request. Its warnings are not shown, and a missing response is
	// not reported.
	Quiet bool
	// Bulk is set for a request whose duration depends on the amount of data. A long duration says
	// nothing about the server.
	Bulk bool
	// Patience names a group of requests that share one time limit for retries. The time starts
	// again once one of them is answered. So if the server does not say what it serves, the client
	// gives up only once, instead of once for each kind. The limit also applies while a request of
	// the group has no response at all, because the server answers such requests from memory.
	// Requests outside a group may have to wait for webhooks or etcd.
	Patience string
	// Asked is closed when the response is needed. Until then, the request is a prefetch: it is
	// neither reported nor retried. Asked is nil for a request that is not a prefetch.
	Asked <-chan struct{}
	wrote *atomic.Bool
}

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

// Read sends a request and reads the response. It uses Stream, which decodes errors and handles
// warnings; DoRaw does not.
func Read(ctx context.Context, r *rest.Request) ([]byte, error) {
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return io.ReadAll(body)
}

// firstPatience limits the wait for a connection that another request is opening. After that time,
// a request opens its own connection.
const firstPatience = 2 * time.Second

// Opening is the first connection of a run. Concurrent requests wait for it, because net/http would
// open one connection for each of them. The zero value lets the first request open it.
type Opening struct {
	begun atomic.Bool
	once  sync.Once
	made  sync.Once
	done  chan struct{}

	// client-go's cache holds only a weak reference to the transport. Without this reference, the
	// transport would be garbage-collected.
	keep http.RoundTripper
}

// OpenEarly starts opening the connection for later requests, without sending a request. It returns
// false if the connection needs more than TCP and TLS, such as a proxy or a credential program. If
// the connection cannot be opened, the first request reports the error.
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

// open makes a transport open a connection and keep it, by means of a request that cannot be sent.
// HTTP/2 keeps the connection of a failed request. HTTP/1.1 keeps it only if the request was
// canceled before the connection was open.
func open(transport *http.Transport, req *http.Request) {
	ctx, giveUp := context.WithCancel(req.Context())
	defer giveUp()
	given := make(chan struct{})
	resp, err := transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			if err == nil && state.NegotiatedProtocol != "h2" {
				giveUp()
				<-given // When this hook returns, the connection is open.
			}
		},
	})))
	close(given)
	if err == nil {
		_ = resp.Body.Close()
	}
}

// direct returns the transport that client-go caches for the config, and the connection pool inside it. It
// returns nil if connections are opened in another way, so that one opened early would not be used.
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

// unsent returns a request with an invalid path. A transport opens a connection for it, but cannot
// send it. The result is nil if the connection would not be encrypted.
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
	attemptOf(req.Context()).receivedNow()
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
	case <-ctx.Done():
	}
}

func (t *opened) WrappedRoundTripper() http.RoundTripper { return t.next }

// Guard waits until a write may be sent. It returns an error if the write must not be sent. It is
// called just before each write.
type Guard func(ctx context.Context) error

type deletingKey struct{}

// Deleting returns a context for requests about objects that are being deleted. The API server's
// warnings that their version is deprecated are not news, so they are dropped.
func Deleting(ctx context.Context) context.Context {
	return context.WithValue(ctx, deletingKey{}, true)
}

type unguardedKey struct{}

// Unguarded returns a context for requests that bypass the guard, such as those about the lock
// itself.
func Unguarded(ctx context.Context) context.Context {
	return context.WithValue(ctx, unguardedKey{}, true)
}

type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }

func (e *refusedError) Unwrap() error { return e.err }

func (t *transport) guarded(req *http.Request) error {
	ctx := req.Context()
	if t.Guard == nil || !writes(req) || attemptOf(ctx).unguarded {
		return nil
	}
	err := t.Guard(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &refusedError{err}
}

// isQuestion reports whether the server evaluates a posted object, such as an access review,
// without storing it.
func isQuestion(req *http.Request) bool {
	return req.Method == http.MethodPost &&
		(strings.Contains(req.URL.Path, "/apis/authorization.k8s.io/") || strings.Contains(req.URL.Path, "/apis/authentication.k8s.io/"))
}
