package webhook

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Clients that connect and send nothing displace each other. They do not displace a client that has
// sent requests (edge case 101).
func TestConnectionsAreBounded(t *testing.T) {
	all := connections{most: 8}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.Config.ConnState = all.changed
	server.Start()
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext}}
	defer client.CloseIdleConnections()
	ask := func() {
		answer, err := client.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	ask()
	var silent []net.Conn
	for range 40 {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		silent = append(silent, conn)
	}
	for _, conn := range silent[:40-8+1] { // They end; only then is all of it known to have happened.
		_, _ = io.Copy(io.Discard, conn)
	}
	all.mu.Lock()
	if n := len(all.all); n > 8 {
		t.Errorf("%d connections are held", n)
	}
	active := 0
	for _, c := range all.all {
		if c.state != http.StateNew { // Its answer may still be under way.
			active++
		}
	}
	all.mu.Unlock()
	if active != 1 {
		t.Errorf("%d connections of clients that sent requests are open, want 1", active)
	}
	ask()
}
