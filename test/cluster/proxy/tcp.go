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
	held     chan struct{} // closed while answers flow
	closed   bool

	wait sync.WaitGroup
}

// Stats counts what went through a TCP proxy since it was made.
type Stats struct {
	Connections int64 // accepted
	Sent        int64 // bytes, to the server
	Received    int64 // bytes, from the server
}

// NewTCP starts a proxy for a server, which is host:port or a URL with both.
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

// Address returns the proxy's own host:port.
func (p *TCP) Address() string { return p.port.Address() }

// URL returns the proxy's own address as an https URL.
func (p *TCP) URL() string { return "https://" + p.port.Address() }

// SetRTT sets the round-trip time that is added from now on, to the bytes of
// every connection and to the making of new ones. It is a delay, not a limit:
// any number of bytes can be on their way.
func (p *TCP) SetRTT(rtt time.Duration) { p.rtt.Store(int64(rtt)) }

// Hold holds the server's answers back: requests still reach the server, and its answers
// arrive after Release.
func (p *TCP) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.held:
		p.held = make(chan struct{})
	default: // held already
	}
}

// Release lets the answers flow that Hold holds back.
func (p *TCP) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.held:
	default:
		close(p.held)
	}
}

// Break resets every connection; data in transit is lost. New connections can be made at
// once.
func (p *TCP) Break() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// Refuse refuses new connections, as if no server listened. Those that exist
// stay: Break ends them.
func (p *TCP) Refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		// A process that is being started has a copy of every socket until it executes its
		// program, and as long as there is one, the kernel accepts connections.
		syscall.ForkLock.RLock()
		_ = p.listener.Close()
		syscall.ForkLock.RUnlock()
		p.listener = nil
	}
}

// HangUp accepts new connections and closes them at once, so that clients see EOF, as
// from servers that still bootstrap behind a load balancer.
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

// Stats returns what went through so far.
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
