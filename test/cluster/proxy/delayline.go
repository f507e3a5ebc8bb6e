package proxy

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// inFlight bounds the bytes in transit in one direction of a connection. 16 MiB at 100 ms of
	// round-trip time allow 320 MiB a second.
	inFlight   = 16 << 20
	parcelSize = 16 << 10
)

// link is a connection through the proxy: two TCP connections and the data in transit between them.
type link struct {
	client, server *net.TCPConn
	once           sync.Once
	done           chan struct{} // closed when the link ends
}

// lane is one direction of a link.
type lane struct {
	due   func(arrived time.Time) time.Time // when a byte is delivered
	gate  func() <-chan struct{}            // closed when bytes may be delivered; nil if they may now
	count *atomic.Int64
}

// parcel is a piece of the stream; the last one, its end, has no bytes.
type parcel struct {
	bytes []byte
	due   time.Time
}

// serve carries one connection.
func (p *TCP) serve(client *net.TCPConn) {
	accepted := time.Now()
	p.stats.connections.Add(1)
	if p.hangUp.Load() {
		_ = client.Close()
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	l := &link{client: client, server: server.(*net.TCPConn), done: make(chan struct{})}
	p.mu.Lock()
	if p.closed {
		l.reset()
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()

	var both sync.WaitGroup
	both.Go(func() {
		l.carry(l.server, l.client, lane{
			// A client can send its first byte once the handshake has returned.
			due:   func(now time.Time) time.Time { return later(now, accepted.Add(p.delay(1))).Add(p.delay(2)) },
			gate:  func() <-chan struct{} { return nil },
			count: &p.stats.sent,
		})
	})
	both.Go(func() {
		l.carry(l.client, l.server, lane{
			due:   func(now time.Time) time.Time { return now.Add(p.delay(2)) },
			gate:  p.gate,
			count: &p.stats.received,
		})
	})
	both.Wait()
	l.close()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// delay returns a fraction of the round-trip time.
func (p *TCP) delay(by int64) time.Duration { return time.Duration(p.rtt.Load() / by) }

func (p *TCP) gate() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// carry reads from one side and delivers to the other when each parcel is due. Many parcels can be
// in transit, so a delay does not reduce throughput.
func (l *link) carry(to, from *net.TCPConn, lane lane) {
	parcels := make(chan parcel, inFlight/parcelSize)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(parcels)
		buffer := make([]byte, parcelSize)
		for {
			n, err := from.Read(buffer)
			if n > 0 && !l.send(parcels, parcel{bytes.Clone(buffer[:n]), lane.due(time.Now())}) {
				return
			}
			if err != nil {
				l.send(parcels, parcel{nil, lane.due(time.Now())})
				return
			}
		}
	})
	l.deliver(to, parcels, lane)
	reader.Wait()
}

func (l *link) send(parcels chan<- parcel, p parcel) bool {
	select {
	case parcels <- p:
		return true
	case <-l.done:
		return false
	}
}

func (l *link) deliver(to *net.TCPConn, parcels <-chan parcel, lane lane) {
	for p := range parcels {
		if !l.sleep(time.Until(p.due)) || !l.pass(lane.gate) {
			return
		}
		if p.bytes == nil {
			_ = to.CloseWrite()
			return
		}
		n, err := to.Write(p.bytes)
		lane.count.Add(int64(n))
		if err != nil {
			l.reset() // the receiver is gone: tell the sender
			return
		}
	}
}

func (l *link) sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// pass waits until the gate is open.
func (l *link) pass(gate func() <-chan struct{}) bool {
	open := gate()
	if open == nil {
		return true
	}
	select {
	case <-open:
		return true
	case <-l.done:
		return false
	}
}

// reset ends the link so that both sides see "connection reset by peer".
func (l *link) reset() {
	l.once.Do(func() {
		close(l.done)
		reset(l.client)
		reset(l.server)
	})
}

// close ends the link after both streams have ended.
func (l *link) close() {
	l.once.Do(func() {
		close(l.done)
		_, _ = l.client.Close(), l.server.Close()
	})
}

// reset closes a connection with RST instead of FIN.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}
