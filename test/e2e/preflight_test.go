package e2e_test

import (
	"regexp"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// Preflight sends its requests once for each namespace with changes, and none for an unchanged set.
func TestPreflightRequestsAreFew(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	const spec = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 0
  selector: {matchLabels: {app: NAME}}
  template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: app, image: "registry.example/web:1.0.0", envFrom: [{configMapRef: {name: NAME}}]}]}}
---
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {selector: {app: NAME}, ports: [{port: 80}]}
---
`
	set := ""
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		set += regexp.MustCompile("NAME").ReplaceAllString(spec, name)
	}
	manifests := e2etest.File(t, set)
	besides := func(from int) []string {
		var asked []string
		for _, r := range p.Requests()[from:] {
			if regexp.MustCompile("quotas|budgets|autoscalers|/pods|/secrets|claims|limitranges|serviceaccounts|/configmaps|statefulsets|daemonsets").MatchString(r.URI) {
				asked = append(asked, r.Method+" "+r.URI)
			}
		}
		return asked
	}
	from := len(p.Requests())
	e2etest.Plugin(t, kubeconfig, "diff", "-n", ns, "-f", manifests).Ends(t, 1).Says(t, "ConfigMap a does not exist")
	if asked := besides(from); len(asked) == 0 || len(asked) > 10 { // quotas, budgets, and one or a few for the ConfigMaps
		t.Errorf("%d preflight requests, want 1 to 10: %q", len(asked), asked)
	}
	from = len(p.Requests())
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", manifests).Ends(t, 0).Says(t, "12 created")
	if asked := besides(from); len(asked) > 0 {
		t.Errorf("apply sent preflight requests: %q", asked)
	}
	from = len(p.Requests())
	for _, verb := range [][]string{{"diff"}, {"apply"}, {"apply", "--dry-run=server"}} {
		e2etest.Plugin(t, kubeconfig, append(verb, "-n", ns, "-f", manifests)...).Ends(t, 0)
	}
	if asked := besides(from); len(asked) > 0 {
		t.Errorf("preflight requests for an unchanged set: %q", asked)
	}
}
