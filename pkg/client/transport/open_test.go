package transport

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// A connection is opened early only if it needs no credential program, which may ask the user, and
// no proxy, which may depend on the host.
func TestOpenEarlyOnlyForDirectConnections(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*rest.Config)
		env    [2]string
		want   bool
	}{
		"TLS only": {func(*rest.Config) {}, [2]string{}, true},
		"a token":  {func(c *rest.Config) { c.BearerToken = "t" }, [2]string{}, true},
		"for another user": {func(c *rest.Config) {
			c.Impersonate.UserName = "jane"
		}, [2]string{}, true},
		"plain HTTP": {func(c *rest.Config) { c.Host = "http://127.0.0.1:1" }, [2]string{}, false},
		"a credential program": {func(c *rest.Config) {
			c.ExecProvider = &api.ExecConfig{Command: "false", APIVersion: "client.authentication.k8s.io/v1"}
		}, [2]string{}, false},
		"an auth provider": {func(c *rest.Config) { c.AuthProvider = &api.AuthProviderConfig{Name: "oidc"} }, [2]string{}, false},
		"a configured proxy": {func(c *rest.Config) {
			c.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})
		}, [2]string{}, false},
		"a custom dialer": {func(c *rest.Config) {
			c.Dial = func(context.Context, string, string) (net.Conn, error) { panic("dialled") }
		}, [2]string{}, false},
		"a custom transport":    {func(c *rest.Config) { c.TLSClientConfig, c.Transport = rest.TLSClientConfig{}, http.DefaultTransport }, [2]string{}, false},
		"a missing certificate": {func(c *rest.Config) { c.CAFile = "/there/is/none" }, [2]string{}, false},
		"HTTP 1.1 only":         {func(*rest.Config) {}, [2]string{"DISABLE_HTTP2", "1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.env[0] != "" {
				t.Setenv(tt.env[0], tt.env[1])
			}
			config := &rest.Config{Host: "https://127.0.0.1:1", TLSClientConfig: rest.TLSClientConfig{ServerName: t.Name()}}
			tt.change(config)
			o := &Opening{}
			o.OpenEarly(config)
			if got := o.begun.Load(); got != tt.want {
				t.Errorf("opened: %t, want %t", got, tt.want)
			}
			if o.begun.Load() {
				<-o.ended()
			}
		})
	}
}

// A connection that hangs delays each request only briefly. It does not delay the end of a request
// that was cancelled.
func TestOpeningHangs(t *testing.T) {
	for name, tt := range map[string]struct{ given, want time.Duration }{
		"patient":   {time.Hour, firstPatience},
		"cancelled": {time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.given)
				defer cancel()
				o := &Opening{}
				o.begun.Store(true)
				began := time.Now()
				a := &attempt{}
				ctx = withAttempt(ctx, a)
				a.receivedNow()
				sent := false
				client := o.wrap(roundTrip(func(*http.Request) (*http.Response, error) {
					sent = true
					if since, _ := a.quietSince(); time.Since(since) != 0 {
						t.Errorf("the server counts as silent for %s before it got a request", time.Since(since))
					}
					return nil, http.ErrHandlerTimeout
				}))
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:1", nil)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = client.RoundTrip(req) //nolint:bodyclose // It has none.
				if got := time.Since(began); got != tt.want || !sent {
					t.Errorf("after %s, sent %t", got, sent)
				}
			})
		})
	}
}

// HTTP/1.1 uses the connection that was opened early. This server answers no other connection.
func TestOpenEarlyHTTP1(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Listener = &once{Listener: server.Listener}
	server.StartTLS()
	defer server.Close()
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}}
	o := &Opening{}
	o.OpenEarly(config)
	<-o.ended()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // It would take for ever.
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := o.keep.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// once accepts one connection. All others hang.
type once struct {
	net.Listener
	conns []net.Conn
}

func (o *once) Accept() (net.Conn, error) {
	for {
		conn, err := o.Listener.Accept()
		if err != nil || len(o.conns) == 0 {
			o.conns = append(o.conns, conn)
			return conn, err
		}
		o.conns = append(o.conns, conn)
	}
}

// Some requests wait while another one opens the connection. If that one fails, they continue.
func TestOpeningFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &Opening{}
		release := make(chan struct{})
		n := 0
		client := o.wrap(roundTrip(func(*http.Request) (*http.Response, error) {
			if n++; n == 1 {
				<-release
			}
			return nil, http.ErrHandlerTimeout
		}))
		send := func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:1", nil)
			_, _ = client.RoundTrip(req) //nolint:bodyclose // It has none.
		}
		go send()
		synctest.Wait()
		go send()
		synctest.Wait()
		if n != 1 {
			t.Fatalf("%d requests before the first is over", n)
		}
		close(release)
		synctest.Wait()
		if n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
