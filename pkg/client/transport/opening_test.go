package transport_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client/transport"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// counting counts the connections to a server that has not been started yet.
func counting(l *httptest.Server) *connections {
	c := &connections{usable: make(chan struct{}, 100)}
	l.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.made.Add(1)
		case http.StateActive: // with HTTP/2, after the handshake
			c.usable <- struct{}{}
		}
	}
	return c
}

type connections struct {
	made   atomic.Int64
	usable chan struct{}
}

func answers(_ int64, w http.ResponseWriter, req *http.Request) { writeObject(w, req) }

// Concurrent first requests share one connection with one handshake, even if the connection was not
// opened early. Opening the connection early sends no request.
func TestOneConnection(t *testing.T) {
	const together = 40
	const inTime, late, asked = "opened early", "opened early, and memory collected since", "opened by a request"
	for _, when := range []string{inTime, late, asked} {
		t.Run(when, func(t *testing.T) {
			var made *connections
			l := newLoopback(t, true, answers, func(s *httptest.Server) { made = counting(s) })
			opening := &transport.Opening{}
			if when != asked {
				opening.OpenEarly(l.config())
				<-made.usable
				if n := l.requests.Load(); n != 0 {
					t.Errorf("%d requests were sent early", n)
				}
			}
			if when == late {
				runtime.GC() // client-go's cache of transports does not keep them from it.
			}
			c, _ := l.client(t, client.Options{Opening: opening})
			var all sync.WaitGroup
			for range together {
				all.Go(func() {
					if _, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a")); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if n := made.made.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
			if n := l.requests.Load(); n != together {
				t.Errorf("%d requests, want %d", n, together)
			}
		})
	}
}

// If a connection could not be opened early, or cannot be used, requests have the same answers and
// errors as without it.
func TestUselessEarlyConnection(t *testing.T) {
	t.Run("HTTP/1.1", func(t *testing.T) {
		l := newLoopback(t, false, answers)
		opening := &transport.Opening{}
		opening.OpenEarly(l.config())
		c, _ := l.client(t, client.Options{Opening: opening})
		if _, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a")); err != nil {
			t.Error(err)
		}
		if n := l.requests.Load(); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
	for name, spoil := range map[string]func(*loopback, *rest.Config){
		"a server that is away":            func(l *loopback, _ *rest.Config) { l.Close() },
		"an unknown certificate":           func(_ *loopback, c *rest.Config) { c.CAData = nil },
		"a certificate for another server": func(_ *loopback, c *rest.Config) { c.ServerName = "elsewhere.example" },
	} {
		t.Run(name, func(t *testing.T) {
			errorOf := func(early bool) string {
				l := newLoopback(t, true, answers)
				config := l.config()
				spoil(l, config)
				opening := &transport.Opening{}
				if early {
					opening.OpenEarly(config)
				}
				c, err := client.New(client.Options{REST: config, Opening: opening})
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a"))
				if err == nil {
					t.Fatal("no error")
				}
				return ports.ReplaceAllString(err.Error(), "PORT")
			}
			if got, want := errorOf(true), errorOf(false); got != want {
				t.Errorf("opened early: %s\notherwise: %s", got, want)
			}
		})
	}
}

var ports = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
