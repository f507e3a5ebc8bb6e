package e2etest

import (
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// SomeOf returns the requests at which to kill a run: three of them, six, or all; the last one
// first, because it is the easiest to forget.
func SomeOf(requests int) []int {
	var all []int
	for at := requests; at >= 1; at -= max(1, requests/circle.Of(3, 6, requests)) {
		all = append(all, at)
	}
	return all
}

// KilledAt runs the plugin and kills it at its nth request, which does not reach the server. A run
// with fewer requests ends normally.
func KilledAt(t *testing.T, p *proxy.HTTP, kubeconfig string, nth int, args ...string) {
	t.Helper()
	var mu sync.Mutex
	seen, reached := 0, make(chan struct{})
	p.Fail(-1, func(*http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen == nth {
			close(reached)
		}
		return seen >= nth
	}, proxy.Fault{Status: http.StatusServiceUnavailable, Delay: time.Minute})
	r := Start(t, kubeconfig, args...)
	select {
	case <-reached:
	case <-r.Over:
	}
	_ = r.Cmd.Process.Signal(syscall.SIGKILL) // may have ended
	<-r.Over
	p.Heal()
}

// Freed releases the lock of a dead run, which would otherwise expire after half a minute. It
// reports whether there is a Lease.
func Freed(t *testing.T, c *cluster.Cluster, ns string) bool {
	t.Helper()
	name := Lease(t, c, ns)
	if name != "" {
		Kubectl(t, c, "patch", "lease", name, "-n", ns, "--type=merge", "-p", `{"spec":{"holderIdentity":""}}`)
	}
	return name != ""
}
