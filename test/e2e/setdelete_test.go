package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// Killed at any request and repeated, sets delete leaves nothing of the set: no member, no
// parent, no history and no Lease. Every request is tried by make test-long, some of them by
// every run.
func TestSetDeleteKilledAtEachRequest(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	made := func(t *testing.T) string {
		ns := namespace(t, c)
		for _, version := range []string{"1", "2"} {
			k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(3, 1, version)))...).ends(t, 0)
		}
		return ns
	}
	args := func(ns string) []string { return []string{"sets", "delete", "shop", "-n", ns, "--yes"} }
	// What there is of the set, besides what every namespace has.
	left := func(t *testing.T, ns string) string {
		return kubectl(t, c, "get", "secrets,leases,configmaps", "-n", ns, "-o", "name", "--field-selector=metadata.name!=kube-root-ca.crt")
	}
	ns := made(t)
	from := len(p.Requests())
	k8sconnect(t, kubeconfig, args(ns)...).ends(t, 0)
	requests := len(p.Requests()) - from
	if out := left(t, ns); out != "" {
		t.Fatalf("a clean run leaves %s", out)
	}
	every := max(1, requests/6)
	if os.Getenv("TEST_LONG") != "" {
		every = 1
	}
	for at := requests; at >= 1; at -= every { // What comes last is what is easily forgotten.
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			ns := made(t)
			var mu sync.Mutex
			seen, reached := 0, make(chan struct{})
			p.Fail(-1, func(*http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				if seen++; seen == at {
					close(reached)
				}
				return seen >= at
			}, cluster.Fault{Status: http.StatusServiceUnavailable, Delay: time.Minute})
			r := start(t, kubeconfig, args(ns)...)
			over := make(chan struct{})
			go func() { _ = r.cmd.Wait(); close(over) }()
			select {
			case <-reached:
			case <-over: // It had fewer requests this time.
			}
			_ = r.cmd.Process.Signal(syscall.SIGKILL) // It may be over.
			<-over
			p.Heal()
			if name := lease(t, c, ns); name != "" {
				// The lock of a dead run is free after half a minute; here it is known to be dead.
				kubectl(t, c, "patch", "lease", name, "-n", ns, "--type=merge", "-p", `{"spec":{"holderIdentity":""}}`)
				k8sconnect(t, c.KubeconfigPath, args(ns)...).ends(t, 0)
			} else {
				k8sconnect(t, c.KubeconfigPath, args(ns)...)
			}
			if out := left(t, ns); strings.TrimSpace(out) != "" {
				t.Errorf("left:\n%s", out)
			}
		})
	}
}
