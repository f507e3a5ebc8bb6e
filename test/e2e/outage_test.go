package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// Transient failures are retried (edge case 28), and reported on stderr if the server gave a
// reason. A request that was merely lost is repeated at once.
func TestTransientErrorsAreRetried(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	for name, fault := range map[string]proxy.Fault{
		"429 with Retry-After":     {Status: http.StatusTooManyRequests, RetryAfter: time.Second},
		"500 from etcd":            {Status: http.StatusInternalServerError, Message: "etcdserver: leader changed"},
		"502":                      {Status: http.StatusBadGateway},
		"503":                      {Status: http.StatusServiceUnavailable},
		"504":                      {Status: http.StatusGatewayTimeout},
		"stream reset":             {},
		"written but answer lost":  {Status: http.StatusGatewayTimeout, AnswerLost: true},
		"written but stream reset": {AnswerLost: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, kubeconfig := proxied(t, c)
			ns := namespace(t, c)
			p.Fail(2, proxy.Path("PATCH", "/api/v1/namespaces/"+ns), fault)
			r := k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(5, 1, "1"))).ends(t, 0)
			r.says(t, "5 created")
			if fault.Status != 0 {
				r.says(t, "trying again")
			}
			if n := len(uids(t, c, ns)); n != 5 {
				t.Errorf("%d objects, want 5", n)
			}
		})
	}
}

// A permanent error is not retried (edge case 28).
func TestPermanentErrorsAreNotRetried(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	for name, tt := range map[string]struct {
		fault    proxy.Fault
		status   int
		requests int
	}{
		"400": {proxy.Fault{Status: http.StatusBadRequest}, 1, 1},
		"403": {proxy.Fault{Status: http.StatusForbidden}, 1, 1}, // from admission: we have permission
		// If a create conflicts, others have created the object: a dry run asks for the outcome of
		// the apply, and is also refused.
		"409": {proxy.Fault{Status: http.StatusConflict}, 1, 2},
		"422": {proxy.Fault{Status: http.StatusUnprocessableEntity}, 1, 1},
		"413": {proxy.Fault{Status: http.StatusRequestEntityTooLarge}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, kubeconfig := proxied(t, c)
			ns := namespace(t, c)
			p.Fail(-1, proxy.Path("PATCH", "/api/v1/namespaces/"+ns), tt.fault)
			k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(1, 1, "1"))).ends(t, tt.status)
			if n := p.Count("PATCH", "/api/v1/namespaces/"+ns); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
		})
	}
}

// If the API server dies and comes back, the run waits for it, reports that once and not for each
// object, and continues.
func TestServerDiesDuringRun(t *testing.T) {
	t.Parallel() // uses its own cluster
	c := cluster.ForTest(t, cluster.Options{})
	ns := namespace(t, c)
	p, _ := proxied(t, c)
	wire, err := proxy.NewTCP(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wire.Close)
	kubeconfig, err := c.Kubeconfig(wire.URL())
	if err != nil {
		t.Fatal(err)
	}
	before(p, writes("/api/v1/namespaces/"+ns+"/configmaps/cm-0060"), func() {
		wire.Refuse()
		wire.Break()
		if err := c.KillAPIServer(); err != nil {
			t.Error(err)
		}
		if err := c.StartAPIServer(t.Context()); err != nil {
			t.Error(err)
		}
	})
	r := start(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(120, 100, "1")), "--concurrency=4", "--server-timeout=2m")
	r.until(t, "it says so", func() bool { return strings.Contains(r.stderr.String(), "the API server does not answer") })
	if err := wire.Restore(); err != nil {
		t.Fatal(err)
	}
	r.wait(t)
	r.ends(t, 0).says(t, "120 created").says(t, "the API server does not answer")
	if n := strings.Count(r.stderr.String(), "\n"); n > 20 {
		t.Errorf("%d lines on stderr, want at most 20: %s", n, &r.stderr)
	}
	if n := len(uids(t, c, ns)); n != 120 {
		t.Errorf("%d objects, want 120", n)
	}
}

// The run waits for a starting cluster from the first request: its connections are refused, then
// closed at once, as behind a load balancer.
func TestServerNotReadyYet(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := behind(t, c)
	ns := namespace(t, c)
	p.Refuse()
	r := start(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(3, 1, "1")), "--server-timeout=2m")
	time.Sleep(500 * time.Millisecond)
	p.HangUp()
	if err := p.Restore(); err != nil {
		t.Fatal(err)
	}
	p.HangUp()
	from := p.Stats().Connections
	until(t, "it knocks", func() bool { return p.Stats().Connections > from+1 })
	if err := p.Restore(); err != nil {
		t.Fatal(err)
	}
	r.wait(t)
	r.ends(t, 0).says(t, "3 created").says(t, "the API server does not answer, trying again for up to 120 s")
}

// If a server accepts connections but never completes a handshake for longer than we wait, nothing
// is known, not even the remaining work.
func TestServerHangs(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := behind(t, c)
	p.Hold()
	set := file(t, configMaps(1, 1, "1"))
	r := k8sconnect(t, kubeconfig, "apply", "-n", "default", "-f", set, "--timeout=2s").ends(t, 2)
	r.says(t, "the run timed out after 2s (--timeout)")
	if r.stdout.Len() != 0 {
		t.Errorf("stdout: %s", r)
	}
}

// If connections break, requests in progress are repeated.
func TestConnectionsBreak(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := behind(t, c)
	ns := namespace(t, c)
	p.SetRTT(10 * time.Millisecond)
	r := start(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(300, 100, "1")), "--concurrency=16")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			time.Sleep(200 * time.Millisecond)
			p.Break()
		}
	}()
	r.wait(t)
	cancel()
	r.ends(t, 0).says(t, "300 created")
	if n := len(uids(t, c, ns)); n != 300 {
		t.Errorf("%d objects, want 300", n)
	}
}

// The API server updates a quota's usage with optimistic locking (edge case 28, k/k#67761): if a
// client keeps changing the quota, creates fail with a conflict of the quota. That is transient.
func TestQuotaConflicts(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	kubectl(t, c, "create", "quota", "many", "-n", ns, "--hard=configmaps=999")
	until(t, "the quota is counted", func() bool {
		return kubectl(t, c, "get", "quota/many", "-n", ns, "-o", "jsonpath={.status.hard.configmaps}") == "999"
	})
	s, err := newServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	quotas := s.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}).Namespace(ns)
	conflicts := func() int {
		return len(slices.DeleteFunc(p.Requests(), func(r proxy.Request) bool { return r.Status != http.StatusConflict }))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for i := range 4 {
		busy.Go(func() {
			for n := 0; ctx.Err() == nil && conflicts() < 10; n++ {
				touch := fmt.Sprintf(`{"metadata":{"annotations":{"touched-%d":"%d"}}}`, i, n)
				_, _ = quotas.Patch(ctx, "many", types.MergePatchType, []byte(touch), metav1.PatchOptions{})
			}
		})
	}
	r := k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(100, 1, "1")))
	cancel()
	busy.Wait()
	r.ends(t, 0).says(t, "100 created")
	if conflicts() == 0 {
		t.Error("no conflict of the quota occurred")
	}
}
