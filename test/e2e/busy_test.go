package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// Edge case 90: a server that is overloaded for as long as we retry has not refused anything.
func TestBusyServer(t *testing.T) {
	c := shared.Cluster(t)
	set := file(t, configMaps(3, 1, "1"))
	for name, fault := range map[string]proxy.Fault{
		"429": {Status: http.StatusTooManyRequests, RetryAfter: time.Hour},
		"500": {Status: http.StatusInternalServerError, RetryAfter: time.Hour},
		"503": {Status: http.StatusServiceUnavailable, RetryAfter: time.Hour},
	} {
		for _, verb := range []string{"apply", "diff", "delete"} {
			t.Run(name+"/"+verb, func(t *testing.T) {
				t.Parallel()
				ns := namespace(t, c)
				p, kubeconfig := proxied(t, c)
				p.Fail(-1, proxy.Path("", "/api/v1/namespaces/"+ns), fault)
				r := start(t, kubeconfig, verb, "-n", ns, "-f", set, "--server-timeout=2s")
				if verb == "delete" { // keeps retrying
					r.until(t, "it asks", func() bool { return failed(p) > 0 })
					r.signal(t, 2)
					if status := r.wait(t); status == 0 || status == 1 {
						t.Errorf("exit status 0 or 1, but no request succeeded: %s", r)
					}
					return
				}
				r.wait(t)
				r.ends(t, 2).says(t, "asks clients to wait 1h0m0s")
			})
		}
	}
}
