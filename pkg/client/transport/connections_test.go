package transport_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// loopback is a server on a real connection, with TLS and HTTP/2.
type loopback struct {
	*httptest.Server
	requests atomic.Int64
	audit    sync.Map
}

func newLoopback(
	t *testing.T, h2 bool, handle func(n int64, w http.ResponseWriter, req *http.Request), before ...func(*httptest.Server),
) *loopback {
	l := &loopback{}
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if id := req.Header.Get("Audit-ID"); id != "" {
			if _, twice := l.audit.LoadOrStore(id, true); twice {
				t.Errorf("Audit-ID %s twice", id)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Path == "/readyz" {
			_, _ = io.WriteString(w, "ok")
			return
		}
		handle(l.requests.Add(1), w, req)
	}))
	l.EnableHTTP2 = h2
	if !h2 { // net/http tries a GET again by itself where a connection was used before
		l.Config.SetKeepAlivesEnabled(false)
	}
	l.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, do := range before {
		do(l.Server)
	}
	l.StartTLS()
	t.Cleanup(l.Close)
	return l
}

func (l *loopback) config() *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.Certificate().Raw})
	return &rest.Config{Host: l.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

func (l *loopback) client(t *testing.T, o client.Options) (*client.Client, *clienttest.Reports) {
	t.Helper()
	says := &clienttest.Reports{}
	if o.REST == nil {
		o.REST = l.config()
	}
	if o.ServerTimeout == 0 {
		o.ServerTimeout = 30 * time.Second
	}
	c, err := client.New(says.Options(o))
	if err != nil {
		t.Fatal(err)
	}
	return c, says
}

func writeObject(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(req.URL.Path, "/")
	fmt.Fprintf(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"prod","uid":"u"}}`, parts[len(parts)-1])
}

func hangUp(w http.ResponseWriter) { panic(http.ErrAbortHandler) }

// Edge case 28: the client retries after a broken connection, and reports that. client-go alone
// does neither.
func TestBrokenConnections(t *testing.T) {
	tests := map[string]struct {
		h2     bool
		broken func(w http.ResponseWriter)
	}{
		"reset of a stream, HTTP/2": {h2: true, broken: hangUp},
		"end of file, HTTP/1.1":     {broken: hangUp},
		"half an answer, HTTP/2": {h2: true, broken: func(w http.ResponseWriter) {
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"Con`)
			_ = http.NewResponseController(w).Flush()
			hangUp(w)
		}},
		"half an answer, HTTP/1.1": {broken: func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"Con`)
			_ = http.NewResponseController(w).Flush()
			hangUp(w)
		}},
	}
	sends := map[string]func(ctx context.Context, c *client.Client) error{
		"GET": func(ctx context.Context, c *client.Client) error {
			_, err := c.Get(ctx, clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"))
			return err
		},
		"PATCH": func(ctx context.Context, c *client.Client) error {
			_, err := c.Apply(ctx, clienttest.ConfigMaps(), clienttest.NewObject(clienttest.ConfigMaps(), "a"), object.Write{Manager: "m"})
			return err
		},
	}
	for name, tt := range tests {
		for method, send := range sends {
			t.Run(name+" "+method, func(t *testing.T) {
				l := newLoopback(t, tt.h2, func(n int64, w http.ResponseWriter, req *http.Request) {
					if req.Method != method {
						t.Errorf("unexpected %s %s", req.Method, req.URL)
					}
					if n <= 2 {
						tt.broken(w)
					}
					writeObject(w, req)
				})
				c, says := l.client(t, client.Options{})
				if err := send(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				if n := l.requests.Load(); n != 3 || len(says.Retries) != 2 {
					t.Errorf("%d requests, reported %v; want 3 requests and 2 reported retries", n, says.Retries)
				}
			})
		}
	}
}

// The server is stopped, and started again on the same port.
func TestRefusedConnection(t *testing.T) {
	l := newLoopback(t, true, func(_ int64, w http.ResponseWriter, req *http.Request) { writeObject(w, req) })
	c, says := l.client(t, client.Options{})
	address, tlsConfig := l.Listener.Addr().String(), l.TLS.Clone()
	l.CloseClientConnections()
	_ = l.Listener.Close()

	done := make(chan error)
	go func() {
		_, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"))
		done <- err
	}()
	for says.Retried() < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("the port is taken: %v", err)
	}
	again := &httptest.Server{Listener: listener, TLS: tlsConfig, EnableHTTP2: true, Config: &http.Server{Handler: l.Config.Handler}}
	again.StartTLS()
	t.Cleanup(again.Close)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A refused connection is reported at once, with advice.
func TestDeclinedConnections(t *testing.T) {
	other := newLoopback(t, true, func(int64, http.ResponseWriter, *http.Request) {})
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	dated := func(from, to time.Time) func() *rest.Config {
		return func() *rest.Config {
			server, ca := newDated(t, from, to)
			return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
		}
	}
	now := time.Now()
	tests := map[string]struct {
		config func() *rest.Config
		hint   string
	}{
		"unknown authority": {func() *rest.Config {
			config := other.config()
			config.CAData = nil
			return config
		}, "is this the right cluster"},
		"wrong name": {func() *rest.Config {
			config := other.config()
			config.ServerName = "elsewhere.example.org"
			return config
		}, "--tls-server-name"},
		// The certificate becomes valid in an hour, as seen from a machine whose clock is an hour
		// slow.
		"not valid yet": {dated(now.Add(time.Hour), now.Add(24*time.Hour)), "clock"},
		"expired":       {dated(now.Add(-24*time.Hour), now.Add(-time.Hour)), "clock"},
		"plain HTTP": {func() *rest.Config {
			config := other.config()
			config.Host = "https" + strings.TrimPrefix(plain.URL, "http")
			return config
		}, "does not speak TLS"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, says := other.client(t, client.Options{REST: tt.config()})
			_, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"))
			var gone *transport.UnreachableError
			if !errors.As(err, &gone) || gone.For != 0 || !strings.Contains(gone.Hint(), tt.hint) || len(says.Retries) != 0 {
				t.Errorf("error %v, reported %v; want an immediate error with the hint %s", err, says.Retries, tt.hint)
			}
		})
	}
}

// newDated returns a server whose certificate is valid only in a given period, and a client
// configuration that trusts the certificate.
func newDated(t *testing.T, from, to time.Time) (server *httptest.Server, ca []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: to, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

// Now returns the cluster's time, even if the clock of this machine is wrong.
func TestNowUsesServerClock(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		l := newLoopback(t, true, func(_ int64, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"prod","uid":"u","resourceVersion":"1"}}`)
		})
		c, _ := l.client(t, client.Options{})
		if _, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a")); err != nil {
			t.Fatal(err)
		}
		if off := (time.Until(c.Now()) - ahead).Abs(); off > time.Minute {
			t.Errorf("server ahead by %s: Now is off by %s", ahead, off)
		}
	}
}

// A login page with status 200 is reported at once and with a hint, for every kind of request.
func TestWebPage(t *testing.T) {
	for name, send := range map[string]func(c *client.Client) error{
		"object":    func(c *client.Client) error { return getMany(t.Context(), c, 1)[0] },
		"write":     func(c *client.Client) error { return apply(object.Write{Manager: "m"})(t.Context(), c) },
		"version":   func(c *client.Client) error { _, err := c.Version(t.Context()); return err },
		"discovery": func(c *client.Client) error { _, err := c.Kind(t.Context(), clienttest.ConfigMaps().GVK); return err },
	} {
		t.Run(name, func(t *testing.T) {
			c, f, says := clienttest.New(t, func(int, *http.Request) (*http.Response, error) {
				return clienttest.Text(http.StatusOK, "text/html; charset=utf-8", "<html>Log in</html>"), nil
			})
			err := send(c)
			var hinted interface{ Hint() string }
			if err == nil || !strings.Contains(err.Error(), "returned a web page (200)") || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "proxy") {
				t.Errorf("error %v, want one about a web page, with a hint about a proxy", err)
			}
			if len(f.Requests) > 2 || len(says.Retries) != 0 { // discovery asks two addresses
				t.Errorf("asked %v, reported %v; want no retries", f.Requests, says.Retries)
			}
		})
	}
}

// The Audit-ID of every request is the run's id with a number of its own. This includes discovery
// and retries.
func TestAuditIDs(t *testing.T) {
	l := newLoopback(t, true, func(n int64, w http.ResponseWriter, req *http.Request) {
		switch {
		case strings.Contains(req.URL.Path, "/configmaps/"):
			if n%5 == 0 {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			writeObject(w, req)
		default:
			resp := clienttest.Discovered(req)
			defer func() { _ = resp.Body.Close() }()
			w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
			w.WriteHeader(resp.StatusCode)
			buf := make([]byte, resp.ContentLength)
			_, _ = resp.Body.Read(buf)
			_, _ = w.Write(buf)
		}
	})
	c, _ := l.client(t, client.Options{Run: "01RUN"})
	if _, err := c.Kind(t.Context(), clienttest.ConfigMaps().GVK); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(getMany(t.Context(), c, 100)...); err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	l.audit.Range(func(id, _ any) bool {
		n++
		if !strings.HasPrefix(id.(string), "01RUN-") {
			t.Errorf("Audit-ID %s", id)
		}
		return true
	})
	if n != l.requests.Load() {
		t.Errorf("%d ids for %d requests", n, l.requests.Load())
	}
}

// --request-timeout ends a request in time. The client then asks the server whether it is ready.
func TestRequestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 200 * time.Millisecond
		f, says := &clienttest.Fake{Answer: func(n int, req *http.Request) (*http.Response, error) {
			if req.URL.Path != "/readyz" && n == 1 {
				return clienttest.Hang(req)
			}
			return clienttest.OK(req), nil
		}}, &clienttest.Reports{}
		c, err := client.New(says.Options(client.Options{
			REST:          &rest.Config{Host: "http://fake", Transport: f, Timeout: limit},
			ServerTimeout: 30 * time.Second,
		}))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < limit || took > limit+time.Second {
			t.Errorf("answer after %s, want a second try after %s", took, limit)
		}
		if f.Count("GET /api") != 2 || f.Count("GET /readyz") == 0 || len(says.Retries) != 1 {
			t.Errorf("asked %v, reported %v", f.Requests, says.Retries)
		}
	})
}
