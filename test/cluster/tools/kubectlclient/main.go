// Command kubectlclient replaces kubectl: it passes its arguments and standard streams to a
// kubectlserver, which saves the start of kubectl, most of the CPU time of a short command. The
// socket kubectl.sock and the program kubectl.real are in its folder; kubectl.real runs commands
// that the server declines.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// declined is the server's response to a command that it does not run.
const declined = 255

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kubectlclient:", err)
		os.Exit(1)
	}
}

func run() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	status, err := ask(filepath.Join(filepath.Dir(self), "kubectl.sock"))
	if err != nil {
		return err
	}
	if status != declined {
		os.Exit(status)
	}
	return syscall.Exec(filepath.Join(filepath.Dir(self), "kubectl.real"), append([]string{"kubectl"}, os.Args[1:]...), os.Environ())
}

// ask sends the command to the server, and returns its exit status.
func ask(socket string) (int, error) {
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	// Package net would double the size of the program.
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}); err != nil {
		return declined, nil // no server, or it has ended
	}
	request := strings.Join(append([]string{dir, os.Getenv("KUBECONFIG")}, os.Args[1:]...), "\x00")
	if err := syscall.Sendmsg(fd, []byte(request), syscall.UnixRights(0, 1, 2), nil, 0); err != nil {
		return 0, err
	}
	if err := syscall.Shutdown(fd, syscall.SHUT_WR); err != nil {
		return 0, err
	}
	answer := make([]byte, 1)
	for {
		switch n, err := syscall.Read(fd, answer); {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, fmt.Errorf("the server at %s has ended", socket)
		default:
			return int(answer[0]), nil
		}
	}
}
