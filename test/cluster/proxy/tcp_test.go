package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/loopback"
)

// echo is a server that returns its input and reports each arrival.
func echo(t *testing.T) (address string, got <-chan int) {
	t.Helper()
	listener := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = listener.Close() })
	sizes := make(chan int, 1<<16)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buffer := make([]byte, 32<<10)
				for {
					n, err := conn.Read(buffer)
					if err != nil {
						return
					}
					sizes <- n
					_, _ = conn.Write(buffer[:n])
				}
			}()
		}
	}()
	return listener.Addr().String(), sizes
}

func newProxy(t *testing.T, target string) *TCP {
	t.Helper()
	p := must[*TCP](t)(NewTCP(target))
	t.Cleanup(p.Close)
	return p
}

func dial(t *testing.T, p *TCP) net.Conn {
	t.Helper()
	conn := must[net.Conn](t)(net.Dial("tcp", p.Address()))
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// exchange sends a word and reads it back.
func exchange(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := io.WriteString(conn, "word"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
}

func TestTCPAddsRoundTripTime(t *testing.T) {
	t.Parallel()
	address, _ := echo(t)
	p := newProxy(t, address)
	const rtt = 60 * time.Millisecond
	p.SetRTT(rtt)
	start := time.Now()
	conn := dial(t, p)
	exchange(t, conn)
	if took := time.Since(start); took < 2*rtt {
		t.Errorf("handshake and first exchange took %s, want two round trips", took)
	}
	start = time.Now()
	exchange(t, conn)
	if took := time.Since(start); took < rtt {
		t.Errorf("second exchange took %s, want a round trip", took)
	}
}

func TestTCPCarriesEveryByte(t *testing.T) {
	t.Parallel()
	address, _ := echo(t)
	p := newProxy(t, address)
	p.SetRTT(20 * time.Millisecond)
	conn := dial(t, p)
	sent := make([]byte, 40<<20) // more than inFlight
	_, _ = rand.Read(sent)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got := must[[]byte](t)(io.ReadAll(conn))
	if !bytes.Equal(got, sent) {
		t.Errorf("got %d bytes back, want the %d bytes that were sent", len(got), len(sent))
	}
	if want := int64(len(sent)); p.Stats() != (Stats{Connections: 1, Sent: want, Received: want}) {
		t.Errorf("stats are %+v", p.Stats())
	}
}

func TestTCPHoldsAnswersBack(t *testing.T) {
	t.Parallel()
	address, got := echo(t)
	p := newProxy(t, address)
	conn := dial(t, p)
	exchange(t, conn)
	<-got
	p.Hold()
	if _, err := io.WriteString(conn, "word"); err != nil {
		t.Fatal(err)
	}
	<-got // received by the server
	_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 4)); n != 0 || !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		t.Errorf("while held: %d bytes, %v", n, err)
	}
	_ = conn.SetReadDeadline(time.Time{})
	p.Release()
	if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
		t.Errorf("after release: %v", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func TestTCPBreaksConnections(t *testing.T) {
	t.Parallel()
	address, _ := echo(t)
	p := newProxy(t, address)
	conn := dial(t, p)
	exchange(t, conn)
	p.Break()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read: %v, want connection reset", err)
	}
	exchange(t, dial(t, p))
}

func TestTCPRefuses(t *testing.T) {
	t.Parallel()
	address, _ := echo(t)
	p := newProxy(t, address)
	old := dial(t, p)
	exchange(t, old)
	p.Refuse()
	if _, err := net.Dial("tcp", p.Address()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v, want connection refused", err)
	}
	exchange(t, old)
	if err := p.Restore(); err != nil {
		t.Fatal(err)
	}
	p.HangUp()
	if _, err := dial(t, p).Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read: %v, want EOF", err)
	}
	if err := p.Restore(); err != nil {
		t.Fatal(err)
	}
	exchange(t, dial(t, p))
}

func TestTCPResetsWhenTheServerIsGone(t *testing.T) {
	t.Parallel()
	gone := must[*loopback.Port](t)(loopback.Reserve())
	t.Cleanup(gone.Release)
	p := newProxy(t, gone.Address())
	conn, err := net.Dial("tcp", p.Address())
	if err == nil { // the reset can arrive before the dial returns
		_, err = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("dial and read: %v, want connection reset", err)
	}
}

func TestTCPIgnoresURLSchemeAndPath(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	p := newProxy(t, server.URL+"/some/path")
	response := must[*http.Response](t)(http.Get("http://" + p.Address()))
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("answer %s", response.Status)
	}
}

// must returns a value, and fails the test if there is an error.
func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
