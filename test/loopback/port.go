//go:build unix

package loopback

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Port is a TCP port on 127.0.0.1 that stays ours while no server listens on it.
//
// It is held by a socket that is bound but does not listen. The kernel never gives such a
// port to a process that asks for any free one, only to sockets of the same user that ask
// for this number and set SO_REUSEPORT as well. So no other process can ever take it: not
// between choosing it and the start of the API server, nor while that is stopped.
type Port struct {
	fd      int
	address string // 127.0.0.1:number
}

// Reserve takes a port until it is released.
func Reserve() (*Port, error) {
	syscall.ForkLock.RLock() // children must not inherit it
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, err
	}
	p := &Port{fd: fd}
	if err := p.bind(); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// Address returns the host:port.
func (p *Port) Address() string { return p.address }

func (p *Port) bind() error {
	if err := unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return err
	}
	if err := unix.Bind(p.fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	name, err := unix.Getsockname(p.fd)
	if err != nil {
		return err
	}
	p.address = (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*unix.SockaddrInet4).Port}).String()
	return nil
}

// Listen listens on the reserved port. After the listener is closed, the port refuses connections,
// and Listen works again.
func (p *Port) Listen(ctx context.Context) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var set error
		err := conn.Control(func(fd uintptr) {
			set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		if err != nil {
			return err
		}
		return set
	}}
	return config.Listen(ctx, "tcp4", p.address)
}

// Release frees the port.
func (p *Port) Release() { _ = unix.Close(p.fd) }
