package webhook

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Clients that connect and send nothing, or requests without the secret path, displace each other.
// They do not displace a client that has sent a request with the path (edge case 101).
func TestConnectionsAreBounded(t *testing.T) {
	const most = 8
	f := newFront("", 0)
	f.most = most
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux := http.NewServeMux()
	mux.Handle("/secret", f.prefer(answer))
	mux.Handle("/", answer)
	server := httptest.NewServer(mux)
	defer server.Close()
	f.backend = server.Listener.Addr().String()
	address := freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	defer func() { stop(); f.closeAll(); f.all.Wait() }()
	if err := f.listen(ctx, address); err != nil {
		t.Fatal(err)
	}
	dialed := 0
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed++
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}}
	defer client.CloseIdleConnections()
	ask := func() {
		answer, err := client.Get("http://" + address + "/secret")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	ask()
	ended := make(chan struct{}, 40)
	for n := range 40 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if n%2 == 0 {
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		go func() {
			_, _ = io.Copy(io.Discard, conn)
			ended <- struct{}{}
		}()
	}
	for range 40 - most + 1 { // Only then is all of it known to have happened.
		<-ended
	}
	f.mu.Lock()
	if n := len(f.of); n > most {
		t.Errorf("%d connections are open, want at most %d", n, most)
	}
	f.mu.Unlock()
	if ask(); dialed != 1 {
		t.Errorf("the client of the secret path had to connect %d times, want once", dialed)
	}
}

// A request in progress is answered although the context has ended, and then nothing is accepted.
func TestFrontDrains(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		_, _ = io.WriteString(w, "late")
	}))
	defer server.Close()
	f := newFront("", 0)
	f.backend = server.Listener.Addr().String()
	address := freeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	if err := f.listen(ctx, address); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	client := &http.Client{Transport: &http.Transport{}}
	go func() {
		answer, err := client.Get("http://" + address)
		if err != nil {
			got <- err.Error()
			return
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		got <- string(body)
	}()
	<-began
	stop()
	for { // The listener closes in its own goroutine.
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(finish)
	if text := <-got; text != "late" {
		t.Errorf("the request in progress got %q", text)
	}
	client.CloseIdleConnections()
	f.all.Wait()
}

// freeAddress returns a loopback address with a free port.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
