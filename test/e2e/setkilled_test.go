package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// someOf returns the requests at which to kill a run: three of them, six, or all; the last one
// first, because it is the easiest to forget.
func someOf(requests int) []int {
	var all []int
	for at := requests; at >= 1; at -= max(1, requests/circle.Of(3, 6, requests)) {
		all = append(all, at)
	}
	return all
}

// killedAt runs the plugin and kills it at its nth request, which does not reach the server. A run
// with fewer requests ends normally.
func killedAt(t *testing.T, p *proxy.HTTP, kubeconfig string, nth int, args ...string) {
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
	r := start(t, kubeconfig, args...)
	select {
	case <-reached:
	case <-r.over:
	}
	_ = r.cmd.Process.Signal(syscall.SIGKILL) // may have ended
	<-r.over
	p.Heal()
}

// freed releases the lock of a dead run, which would otherwise expire after half a minute. It
// reports whether there is a Lease.
func freed(t *testing.T, c *cluster.Cluster, ns string) bool {
	t.Helper()
	name := lease(t, c, ns)
	if name != "" {
		kubectl(t, c, "patch", "lease", name, "-n", ns, "--type=merge", "-p", `{"spec":{"holderIdentity":""}}`)
	}
	return name != ""
}

// A rollback that is killed at any request and repeated has the same result as an uninterrupted
// one: the earlier run's objects, none created twice, and no newer objects.
func TestRollbackKilledAtEachRequest(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	const n = 8
	first, second := file(t, configMaps(n, 1, "1")), file(t, without(configMaps(n+2, 1, "2"), "cm-0000"))
	made := func(t *testing.T) string {
		ns := namespace(t, c)
		k8sconnect(t, c.KubeconfigPath, applySet(ns, first, "--run-id=first")...).ends(t, 0)
		k8sconnect(t, c.KubeconfigPath, applySet(ns, second)...).ends(t, 0)
		return ns
	}
	args := func(ns string) []string { return []string{"sets", "rollback", "shop", "--to=first", "-n", ns, "--yes"} }
	right := func(t *testing.T, ns string) {
		t.Helper()
		live := values(t, c, ns)
		for i := range n {
			if name := fmt.Sprintf("cm-%04d", i); live[name] != "1" {
				t.Errorf("%s is %q, want 1", name, live[name])
			}
		}
		if len(live) != n {
			t.Errorf("%d objects, want %d: %v", len(live), n, live)
		}
	}
	ns := made(t)
	from := len(p.Requests())
	k8sconnect(t, kubeconfig, args(ns)...).ends(t, 0)
	requests := len(p.Requests()) - from
	right(t, ns)
	for _, at := range someOf(requests) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			ns := made(t)
			killedAt(t, p, kubeconfig, at, args(ns)...)
			there := uids(t, c, ns)
			freed(t, c, ns)
			k8sconnect(t, c.KubeconfigPath, args(ns)...).ends(t, 0)
			right(t, ns)
			for name, uid := range uids(t, c, ns) {
				if was := there[name]; was != "" && was != uid {
					t.Errorf("%s was created twice", name)
				}
			}
			// The killed run is not a target for a rollback.
			k8sconnect(t, c.KubeconfigPath, "sets", "rollback", "shop", "-n", ns, "--yes").ends(t, 0)
			if live := values(t, c, ns); len(live) != n+1 || live["cm-0001"] != "2" {
				t.Errorf("after the second rollback, the objects are %v, want those before the first one", live)
			}
		})
	}
}
