// Package loopback gives tests addresses to listen on.
package loopback

import (
	"math/rand/v2"
	"net"
)

// Address returns a loopback address, IP and port, for a server that opens its listener
// itself, somewhat later.
//
// A free port of 127.0.0.1 is not good enough: once it is released, the kernel may make
// it the source port of any connection, and the server's bind fails. Connections to the
// loopback range start from 127.0.0.1. The address returned is another one of
// 127.0.0.0/8, chosen at random, so that it is not in use, whatever its port.
func Address() (string, error) {
	ip := net.IPv4(127, 1+byte(rand.N(254)), byte(rand.N(256)), 1+byte(rand.N(254)))
	listener, err := net.Listen("tcp4", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
