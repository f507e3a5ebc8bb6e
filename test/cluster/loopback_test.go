package cluster

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestNothingLeavesLoopback checks every socket of every program, after each has done some work.
func TestNothingLeavesLoopback(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	c := everything.Cluster(t)
	mustKubectl(t, c, c.KubeconfigPath, "create", "deployment", "some", "--image=registry.example/some", "--replicas=2")
	mustKubectl(t, c, c.KubeconfigPath, "rollout", "status", "deployment/some", "--timeout=60s")
	total := 0
	for _, p := range c.running() {
		for _, s := range sockets(t, p.pid) {
			total++
			if !s.local.IsLoopback() || !s.remote.IsLoopback() && !s.remote.IsUnspecified() {
				t.Errorf("%s has a socket from %s to %s", p.name, s.local, s.remote)
			}
		}
	}
	if total < 5 {
		t.Errorf("found only %d sockets, want at least 5", total)
	}
}

type socket struct{ local, remote net.IP }

// sockets returns a process's internet sockets.
func sockets(t *testing.T, pid int) []socket {
	t.Helper()
	var own []string
	for _, fd := range must[[]string](t)(filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))) {
		target, _ := os.Readlink(fd)
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			own = append(own, strings.TrimSuffix(inode, "]"))
		}
	}
	var found []socket
	for _, table := range []string{"tcp", "tcp6", "udp", "udp6"} {
		content := must[[]byte](t)(os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table)))
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && slices.Contains(own, fields[9]) {
				found = append(found, socket{address(t, fields[1]), address(t, fields[2])})
			}
		}
	}
	return found
}

// address parses the kernel's format: groups of four bytes in host order, which is little-endian
// wherever these tests run, and a port.
func address(t *testing.T, field string) net.IP {
	t.Helper()
	digits, _, _ := strings.Cut(field, ":")
	ip := net.IP(must[[]byte](t)(hex.DecodeString(digits)))
	for group := range slices.Chunk(ip, 4) {
		slices.Reverse(group)
	}
	return ip
}
