package e2etest

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// Proxied starts an HTTP proxy in front of the cluster, and returns a kubeconfig that uses it.
func Proxied(t *testing.T, c *cluster.Cluster) (*proxy.HTTP, string) {
	t.Helper()
	c.OwnOnly(t)
	p, err := c.HTTPProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	kubeconfig, err := c.Kubeconfig(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	return p, kubeconfig
}

// Behind starts a TCP proxy in front of the cluster, which can be slow, refuse, or drop
// connections.
func Behind(t *testing.T, c *cluster.Cluster) (*proxy.TCP, string) {
	t.Helper()
	c.OwnOnly(t)
	p, err := proxy.NewTCP(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	kubeconfig, err := c.Kubeconfig(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	return p, kubeconfig
}

// Writes matches persistent applies below a path: no reads, dry runs or changes of managed fields.
func Writes(path string) proxy.Match {
	return func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, path) && IsWrite(r.Method, r.URL.RawQuery) &&
			r.Header.Get("Content-Type") == "application/apply-patch+yaml"
	}
}

// IsWrite reports whether a request with this method and query changes an object.
func IsWrite(method, query string) bool {
	return method != http.MethodGet && !strings.Contains(query, "dryRun=")
}

// Written counts the requests so far that changed an object.
func Written(p *proxy.HTTP) int {
	n := 0
	for _, r := range p.Requests() {
		_, query, _ := strings.Cut(r.URI, "?")
		if IsWrite(r.Method, query) {
			n++
		}
	}
	return n
}

// Before runs a function once, right before it forwards the first matching request. All requests
// wait for it.
func Before(p *proxy.HTTP, match proxy.Match, do func()) {
	var once sync.Once
	p.Fail(-1, func(r *http.Request) bool {
		if match(r) {
			once.Do(do)
		}
		return false
	}, proxy.Fault{})
}
