package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// An aggregated API that does not support server-side apply, as the proxy plays it, is called that,
// whatever its answer. The request is not repeated. (projectcalico/calico#12841)
func TestAPIWithoutServerSideApply(t *testing.T) {
	c := shared.Cluster(t)
	for name, fault := range map[string]proxy.Fault{
		"415":                        {Status: 415, Message: "the body of the request was in an unknown format"},
		"404":                        {Status: 404, Message: `configmaps "agg" not found`},
		"500 without a serializer":   {Status: 500, Message: "no serializer defined for application/yaml"},
		"500 for an existing object": {Status: 500, Message: "no serializer defined for application/apply-patch+yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			p, kubeconfig := watched(t, c)
			ns := uniqueName()
			ask(t, c, "create", "namespace", ns)
			t.Cleanup(func() { c.DeleteNamespace(ns) })
			verb := "create"
			if strings.Contains(name, "existing") {
				ask(t, c, "create", "configmap", "agg", "-n", ns)
				verb = "replace"
			}
			path := "/api/v1/namespaces/" + ns + "/configmaps"
			p.Fail(-1, func(r *http.Request) bool {
				return r.Method == "PATCH" && strings.HasPrefix(r.URL.Path, path) && strings.Contains(r.Header.Get("Content-Type"), "apply-patch")
			}, fault)
			file := write(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: agg, namespace: "+ns+"}\ndata: {a: \"1\"}\n")
			for _, args := range [][]string{{"apply", "-f", file, "--server-timeout=1h"}, {"diff", "-f", file, "--server-timeout=1h"}} {
				status := map[string]int{"apply": 1, "diff": 2}[args[0]]
				out := done(t, "", kubeconfig, status, args...).stdout.String()
				for _, want := range []string{"the API of configmaps does not support server-side apply: ", "hint: use kubectl " + verb + " -f "} {
					if !strings.Contains(out, want) {
						t.Errorf("%s does not print %q:\n%s", args[0], want, out)
					}
				}
			}
		})
	}
}
