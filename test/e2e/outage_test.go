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
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
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
			p, kubeconfig := e2etest.Proxied(t, c)
			ns := e2etest.Namespace(t, c)
			p.Fail(2, proxy.Path("PATCH", "/api/v1/namespaces/"+ns), fault)
			r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(5, 1, "1"))).Ends(t, 0)
			r.Says(t, "5 created")
			if fault.Status != 0 {
				r.Says(t, "trying again")
			}
			if n := len(e2etest.UIDs(t, c, ns)); n != 5 {
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
			p, kubeconfig := e2etest.Proxied(t, c)
			ns := e2etest.Namespace(t, c)
			p.Fail(-1, proxy.Path("PATCH", "/api/v1/namespaces/"+ns), tt.fault)
			e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "1"))).Ends(t, tt.status)
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
	ns := e2etest.Namespace(t, c)
	p, _ := e2etest.Proxied(t, c)
	wire, err := proxy.NewTCP(p.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wire.Close)
	kubeconfig, err := c.Kubeconfig(wire.URL())
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Before(p, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/cm-0060"), func() {
		wire.Refuse()
		wire.Break()
		if err := c.KillAPIServer(); err != nil {
			t.Error(err)
		}
		if err := c.StartAPIServer(t.Context()); err != nil {
			t.Error(err)
		}
	})
	r := e2etest.Start(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(120, 100, "1")), "--concurrency=4", "--server-timeout=2m")
	r.Until(t, "it says so", func() bool { return strings.Contains(r.Stderr.String(), "the API server does not answer") })
	if err := wire.Restore(); err != nil {
		t.Fatal(err)
	}
	r.Wait(t)
	r.Ends(t, 0).Says(t, "120 created").Says(t, "the API server does not answer")
	if n := strings.Count(r.Stderr.String(), "\n"); n > 20 {
		t.Errorf("%d lines on stderr, want at most 20: %s", n, &r.Stderr)
	}
	if n := len(e2etest.UIDs(t, c, ns)); n != 120 {
		t.Errorf("%d objects, want 120", n)
	}
}

// The run waits for a starting cluster from the first request: its connections are refused, then
// closed at once, as behind a load balancer.
func TestServerNotReadyYet(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Behind(t, c)
	ns := e2etest.Namespace(t, c)
	p.Refuse()
	r := e2etest.Start(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(3, 1, "1")), "--server-timeout=2m")
	time.Sleep(500 * time.Millisecond)
	p.HangUp()
	if err := p.Restore(); err != nil {
		t.Fatal(err)
	}
	p.HangUp()
	from := p.Stats().Connections
	e2etest.Until(t, "it knocks", func() bool { return p.Stats().Connections > from+1 })
	if err := p.Restore(); err != nil {
		t.Fatal(err)
	}
	r.Wait(t)
	r.Ends(t, 0).Says(t, "3 created").Says(t, "the API server does not answer, trying again for up to 120 s")
}

// If a server accepts connections but never completes a handshake for longer than we wait, nothing
// is known, not even the remaining work.
func TestServerHangs(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Behind(t, c)
	p.Hold()
	set := e2etest.File(t, e2etest.ConfigMaps(1, 1, "1"))
	r := e2etest.Plugin(t, kubeconfig, "apply", "-n", "default", "-f", set, "--timeout=2s").Ends(t, 2)
	r.Says(t, "the run timed out after 2s (--timeout)")
	if r.Stdout.Len() != 0 {
		t.Errorf("stdout: %s", r)
	}
}

// If connections break, requests in progress are repeated.
func TestConnectionsBreak(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Behind(t, c)
	ns := e2etest.Namespace(t, c)
	p.SetRTT(10 * time.Millisecond)
	r := e2etest.Start(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(300, 100, "1")), "--concurrency=16")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			time.Sleep(200 * time.Millisecond)
			p.Break()
		}
	}()
	r.Wait(t)
	cancel()
	r.Ends(t, 0).Says(t, "300 created")
	if n := len(e2etest.UIDs(t, c, ns)); n != 300 {
		t.Errorf("%d objects, want 300", n)
	}
}

// The API server updates a quota's usage with optimistic locking (edge case 28, k/k#67761): if a
// client keeps changing the quota, creates fail with a conflict of the quota. That is transient.
func TestQuotaConflicts(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "quota", "many", "-n", ns, "--hard=configmaps=999")
	e2etest.Until(t, "the quota is counted", func() bool {
		return e2etest.Kubectl(t, c, "get", "quota/many", "-n", ns, "-o", "jsonpath={.status.hard.configmaps}") == "999"
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
	r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(100, 1, "1")))
	cancel()
	busy.Wait()
	r.Ends(t, 0).Says(t, "100 created")
	if conflicts() == 0 {
		t.Error("no conflict of the quota occurred")
	}
}
