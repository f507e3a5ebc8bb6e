package loopback

import (
	"net"
	"testing"
)

// An address stays free while other processes open connections, even from its port.
func TestAddress(t *testing.T) {
	address, err := Address()
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	source, err := net.ResolveTCPAddr("tcp4", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		t.Fatal(err)
	}
	dialer := net.Dialer{LocalAddr: source}
	connection, err := dialer.Dial("tcp4", server.Addr().String())
	if err != nil {
		t.Skip("the port is in use already, which is the case under test: ", err)
	}
	defer func() { _ = connection.Close() }()
	late, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal("a connection from the same port blocks the listener: ", err)
	}
	defer func() { _ = late.Close() }()

	toLate, err := net.Dial("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = toLate.Close() }()
	if ip := toLate.LocalAddr().(*net.TCPAddr).IP; !ip.Equal(net.IPv4(127, 0, 0, 1)) {
		t.Errorf("a connection to %s starts from %s: it could take another server's address", address, ip)
	}
}
