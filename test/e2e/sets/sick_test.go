package sets_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// With a server that is slow, overloaded, restarted and drops responses, a set is applied, pruned,
// rolled back and deleted as on a healthy one, and nothing is done twice.
func TestSetOnUnreliableServer(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	faults := []proxy.Fault{
		{Status: http.StatusServiceUnavailable},
		{Status: http.StatusTooManyRequests, RetryAfter: time.Second},
		{}, // resets the connection
		{Delay: 300 * time.Millisecond, Slow: true},
		{Status: http.StatusGatewayTimeout},
		{AnswerLost: true},
	}
	var sent atomic.Int64
	const each = 5 // one in so many requests fails, with each fault in turn
	for i, fault := range faults {
		p.Fail(-1, func(r *http.Request) bool {
			if strings.Contains(r.URL.RawQuery, "watch=") {
				return false
			}
			if i == 0 {
				sent.Add(1) // the first rule sees each request
			}
			n := sent.Load()
			return n%each == 0 && int(n/each)%len(faults) == i
		}, fault)
	}
	run := func(status int, args ...string) *e2etest.Run {
		return e2etest.Plugin(t, kubeconfig, append(args, "-n", ns, "--server-timeout=2m")...).Ends(t, status)
	}
	const n = 24
	first, second := e2etest.ConfigMaps(n, 1, "1"), e2etest.ConfigMaps(n+2, 1, "2")
	for _, name := range []string{"cm-0000", "cm-0001", "cm-0002"} {
		second = e2etest.Without(second, name)
	}
	run(0, "apply", "-f", e2etest.File(t, first), "--apply-set=shop", "--prune", "--atomic").Says(t, "24 created")
	made := e2etest.UIDs(t, c, ns)
	run(0, "apply", "-f", e2etest.File(t, second), "--apply-set=shop", "--prune", "--atomic").Says(t, "2 created, 21 configured, 3 pruned")
	run(0, "sets", "shop").Says(t, "cm-0025")
	run(0, "sets", "rollback", "shop", "--yes")
	live := values(t, c, ns)
	for name, uid := range e2etest.UIDs(t, c, ns) {
		if live[name] != "1" {
			t.Errorf("%s is %q, want 1", name, live[name])
		}
		if name > "cm-0002" && made[name] != uid {
			t.Errorf("%s was created twice", name)
		}
	}
	if len(live) != n {
		t.Errorf("%d objects, want %d", len(live), n)
	}
	run(0, "sets", "delete", "shop", "--yes")
	p.Heal()
	if left := e2etest.Kubectl(t, c, "get", "secrets,leases,configmaps", "-n", ns, "-o", "name", "--field-selector=metadata.name!=kube-root-ca.crt"); left != "" {
		t.Errorf("left:\n%s", left)
	}
	if sent.Load() < 50 {
		t.Errorf("only %d requests, want at least 50", sent.Load())
	}
}
