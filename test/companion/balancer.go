package companion

import (
	"io"
	"net"
	"slices"
	"sync"
)

// balancer acts as a Service: it forwards each connection to one of its backends, in turn. A
// connection ends when its backend does.
type balancer struct {
	listener net.Listener

	mu       sync.Mutex
	backends []string
	turn     int
	// silent is set while connections get no response; fronts are the open connections.
	silent bool
	fronts map[net.Conn]bool
}

func newBalancer() (*balancer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &balancer{listener: listener, fronts: map[net.Conn]bool{}}
	go b.serve()
	return b, nil
}

func (b *balancer) address() string { return b.listener.Addr().String() }

func (b *balancer) close() { _ = b.listener.Close() }

func (b *balancer) set(address string, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = slices.DeleteFunc(b.backends, func(other string) bool { return other == address })
	if is {
		b.backends = append(b.backends, address)
	}
}

func (b *balancer) serve() {
	for {
		front, err := b.listener.Accept()
		if err != nil {
			return
		}
		go b.carry(front)
	}
}

// silence makes connections get no response, as if packets were dropped, or ends that. It closes
// open connections.
func (b *balancer) silence(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent = is
	for front := range b.fronts {
		_ = front.Close()
	}
}

// enter registers a connection, and returns its backend, which is empty if there is none.
func (b *balancer) enter(front net.Conn) (backend string, silent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fronts[front] = true
	if len(b.backends) > 0 {
		b.turn++
		backend = b.backends[b.turn%len(b.backends)]
	}
	return backend, b.silent
}

func (b *balancer) leave(front net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.fronts, front)
	_ = front.Close()
}

func (b *balancer) carry(front net.Conn) {
	defer b.leave(front)
	backend, silent := b.enter(front)
	if silent {
		_, _ = io.Copy(io.Discard, front)
		return
	}
	back, err := net.Dial("tcp", backend)
	if err != nil {
		return
	}
	defer func() { _ = back.Close() }()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{front, back}, {back, front}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
}
