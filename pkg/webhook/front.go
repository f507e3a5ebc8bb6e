package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxConnections limits the number of connections. An API server needs one or two.
const maxConnections = 256

// drainTimeout is shorter than stopTimeout, after which the process ends with an error.
const drainTimeout = stopTimeout - 5*time.Second

// front accepts the connections to the webhook's port and forwards their bytes to
// controller-runtime's server, which listens on a loopback port. That server neither limits its
// connections nor shows those that send no TLS hello, so the front limits them (edge case 101).
type front struct {
	connections
	backend string
	all     sync.WaitGroup // the goroutines
}

func newFront(host string, port int) *front {
	return &front{connections: connections{most: maxConnections}, backend: net.JoinHostPort(host, strconv.Itoa(port))}
}

// listen starts to accept and to forward. Once the context has ended, it accepts nothing more, and
// after drainTimeout it closes the connections that still have a request in progress.
func (f *front) listen(ctx context.Context, address string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	f.all.Go(func() { f.accept(l) })
	context.AfterFunc(ctx, func() {
		_ = l.Close()
		time.AfterFunc(drainTimeout, f.closeAll)
	})
	return nil
}

func (f *front) accept(l net.Listener) {
	for pause := time.Millisecond; ; {
		client, err := l.Accept()
		switch {
		case err == nil:
			pause = time.Millisecond
			f.all.Go(func() { f.forward(client) })
		case errors.Is(err, net.ErrClosed):
			return
		default: // For example, the process has too many open files.
			time.Sleep(pause)
			pause = min(2*pause, time.Second)
		}
	}
}

func (f *front) forward(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", f.backend)
	if err != nil {
		return
	}
	name := server.LocalAddr().String() // The server sees this address as the client's.
	f.opened(name, client)
	defer f.closed(name)
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}

// connections tracks the open connections by the address that the server sees. If there are too
// many, it closes the one that has been waiting longest, preferably one that has never sent a
// request with the secret path.
type connections struct {
	most int
	mu   sync.Mutex
	of   map[string]*connection
}

type connection struct {
	net.Conn
	busy  int       // requests in progress
	asked bool      // has sent a request with the secret path
	since time.Time // of the last request, or when it was opened
}

func (c *connections) opened(name string, conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]*connection{}
	}
	c.of[name] = &connection{Conn: conn, since: time.Now()}
	if len(c.of) <= c.most {
		return
	}
	if victim := c.victim(); victim != "" {
		_ = c.of[victim].Close()
		delete(c.of, victim)
	}
}

func (c *connections) closed(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, name)
}

func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.of {
		_ = conn.Close()
	}
}

func (c *connections) victim() (found string) {
	var is *connection
	for name, other := range c.of {
		if other.busy > 0 {
			continue
		}
		if is == nil || is.asked && !other.asked || is.asked == other.asked && other.since.Before(is.since) {
			found, is = name, other
		}
	}
	return found
}

// prefer returns a handler whose requests give their connection preference over others.
func (c *connections) prefer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.request(r.RemoteAddr, 1)
		defer c.request(r.RemoteAddr, -1)
		next.ServeHTTP(w, r)
	})
}

func (c *connections) request(name string, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn := c.of[name]; conn != nil {
		conn.busy, conn.asked, conn.since = conn.busy+more, true, time.Now()
	}
}

// loopbackPort returns a free port on the loopback address.
func loopbackPort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

const loopback = "127.0.0.1"
