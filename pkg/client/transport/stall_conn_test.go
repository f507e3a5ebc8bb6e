package transport_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/client"
	"github.com/k8sconnect/kubectl-k8sconnect/test/clienttest"
)

// relay forwards connections to a server. The first connection dies without a signal, as if a NAT
// or a firewall had forgotten it.
type relay struct {
	net.Listener
	deaf  atomic.Bool // the first connection is cut off
	taken atomic.Int64
}

func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: listener}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			first := r.taken.Add(1) == 1
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			t.Cleanup(func() { _, _ = client.Close(), upstream.Close() })
			go r.pass(upstream, client, first)
			go r.pass(client, upstream, first)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wait.Wait()
	})
	return r
}

func (r *relay) pass(to io.Writer, from io.Reader, first bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if first && r.deaf.Load() {
			continue // lost on the way
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// The client replaces a dead connection within the server timeout.
func TestDeadConnection(t *testing.T) {
	t.Parallel()
	l := newLoopback(t, true, func(_ int64, w http.ResponseWriter, req *http.Request) { writeObject(w, req) })
	r := newRelay(t, l.Listener.Addr().String())
	config := l.config()
	config.Host = "https://" + r.Addr().String()
	c, _ := l.client(t, client.Options{REST: config, ServerTimeout: 6 * time.Second})
	for _, deaf := range []bool{false, true} {
		r.deaf.Store(deaf)
		if _, err := c.Get(t.Context(), clienttest.ConfigMaps(), clienttest.RefTo(clienttest.ConfigMaps(), "a")); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.taken.Load(); n != 2 {
		t.Errorf("%d connections, want the dead one and another", n)
	}
}
