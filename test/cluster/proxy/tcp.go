package proxy

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/loopback"
)

// TCP is a stretch of network in front of an API server, or of anything else that
// speaks TCP: it adds round-trip time, and loses data on demand. It does not inspect the
// data. Its methods may be called at any time.
//
//	p, err := proxy.NewTCP(c.URL)
//	kubeconfig, err := c.Kubeconfig(p.URL())
//	p.SetRTT(100 * time.Millisecond)
type TCP struct {
	target string
	port   *loopback.Port
	rtt    atomic.Int64
	hangUp atomic.Bool
	stats  struct{ connections, sent, received atomic.Int64 }

	mu       sync.Mutex
	listener net.Listener // nil while connections are refused
	links    map[*link]struct{}
	held     chan struct{} // closed while responses pass
	closed   bool

	wait sync.WaitGroup
}

// Stats counts a TCP proxy's traffic since its start.
type Stats struct {
	Connections int64 // accepted
	Sent        int64 // bytes, to the server
	Received    int64 // bytes, from the server
}

// NewTCP starts a proxy for a server, given as host:port or as a URL.
func NewTCP(server string) (*TCP, error) {
	if _, rest, found := strings.Cut(server, "://"); found {
		server, _, _ = strings.Cut(rest, "/")
	}
	port, err := loopback.Reserve()
	if err != nil {
		return nil, err
	}
	p := &TCP{target: server, port: port, links: map[*link]struct{}{}, held: make(chan struct{})}
	close(p.held)
	if err := p.listen(); err != nil {
		port.Release()
		return nil, err
	}
	return p, nil
}

// Address returns the proxy's host:port.
func (p *TCP) Address() string { return p.port.Address() }

// URL returns the proxy's address as an https URL.
func (p *TCP) URL() string { return "https://" + p.port.Address() }

// SetRTT sets the round-trip time that is added to the traffic of all connections and to new
// connections. It does not limit throughput.
func (p *TCP) SetRTT(rtt time.Duration) { p.rtt.Store(int64(rtt)) }

// Hold delays the server's responses until Release. Requests still reach the server.
func (p *TCP) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.held:
		p.held = make(chan struct{})
	default: // held already
	}
}

// Release delivers the responses that Hold delayed.
func (p *TCP) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.held:
	default:
		close(p.held)
	}
}

// Break resets all connections and drops their data in transit. Clients can reconnect at once.
func (p *TCP) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// Refuse refuses new connections, as if no server listened. Existing ones stay open; Break ends
// them.
func (p *TCP) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		// A starting process has a copy of every socket until it executes its program. As long as a
		// copy exists, the kernel accepts connections.
		syscall.ForkLock.RLock()
		_ = p.listener.Close()
		syscall.ForkLock.RUnlock()
		p.listener = nil
	}
}

// HangUp accepts new connections and closes them at once, so that clients see EOF, as from a load
// balancer whose servers are still starting.
func (p *TCP) HangUp() { p.hangUp.Store(true) }

// Restore ends Hold, Refuse and HangUp.
func (p *TCP) Restore() error {
	p.hangUp.Store(false)
	p.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil || p.closed {
		return nil
	}
	return p.listen()
}

// Stats returns the traffic so far.
func (p *TCP) Stats() Stats {
	return Stats{
		Connections: p.stats.connections.Load(),
		Sent:        p.stats.sent.Load(),
		Received:    p.stats.received.Load(),
	}
}

// Close ends the proxy and its connections.
func (p *TCP) Close() {
	p.Refuse()
	p.mu.Lock()
	p.closed = true
	for l := range p.links {
		l.reset()
	}
	p.mu.Unlock()
	p.wait.Wait()
	p.port.Release()
}

func (p *TCP) listen() error {
	listener, err := p.port.Listen(context.Background())
	if err != nil {
		return err
	}
	p.listener = listener
	p.wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.wait.Go(func() { p.serve(client.(*net.TCPConn)) })
		}
	})
	return nil
}
