package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// Edge case 90: a server that is overloaded for as long as we retry has not refused anything.
func TestBusyServer(t *testing.T) {
	c := shared.Cluster(t)
	set := e2etest.File(t, e2etest.ConfigMaps(3, 1, "1"))
	for name, fault := range map[string]proxy.Fault{
		"429": {Status: http.StatusTooManyRequests, RetryAfter: time.Hour},
		"500": {Status: http.StatusInternalServerError, RetryAfter: time.Hour},
		"503": {Status: http.StatusServiceUnavailable, RetryAfter: time.Hour},
	} {
		for _, verb := range []string{"apply", "diff", "delete"} {
			t.Run(name+"/"+verb, func(t *testing.T) {
				t.Parallel()
				ns := e2etest.Namespace(t, c)
				p, kubeconfig := e2etest.Proxied(t, c)
				p.Fail(-1, proxy.Path("", "/api/v1/namespaces/"+ns), fault)
				r := e2etest.Start(t, kubeconfig, verb, "-n", ns, "-f", set, "--server-timeout=2s")
				if verb == "delete" { // keeps retrying
					r.Until(t, "it asks", func() bool { return failed(p) > 0 })
					r.Signal(t, 2)
					if status := r.Wait(t); status == 0 || status == 1 {
						t.Errorf("exit status 0 or 1, but no request succeeded: %s", r)
					}
					return
				}
				r.Wait(t)
				r.Ends(t, 2).Says(t, "asks clients to wait 1h0m0s")
			})
		}
	}
}
