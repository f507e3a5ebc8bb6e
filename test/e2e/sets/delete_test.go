package sets_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// If sets delete is killed at any request and repeated, nothing of the set remains: no member,
// parent, history or Lease. make test-long tries every request, other runs some of them.
func TestSetDeleteKilledAtEachRequest(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	made := func(t *testing.T) string {
		ns := e2etest.Namespace(t, c)
		for _, version := range []string{"1", "2"} {
			e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(3, 1, version)))...).Ends(t, 0)
		}
		return ns
	}
	args := func(ns string) []string { return []string{"sets", "delete", "shop", "-n", ns, "--yes"} }
	// The set's objects, without those that every namespace has.
	left := func(t *testing.T, ns string) string {
		return e2etest.Kubectl(t, c, "get", "secrets,leases,configmaps", "-n", ns, "-o", "name", "--field-selector=metadata.name!=kube-root-ca.crt")
	}
	ns := made(t)
	from := len(p.Requests())
	e2etest.Plugin(t, kubeconfig, args(ns)...).Ends(t, 0)
	requests := len(p.Requests()) - from
	if out := left(t, ns); out != "" {
		t.Fatalf("a clean run leaves %s", out)
	}
	for _, at := range e2etest.SomeOf(requests) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			ns := made(t)
			e2etest.KilledAt(t, p, kubeconfig, at, args(ns)...)
			if e2etest.Freed(t, c, ns) {
				e2etest.Plugin(t, c.KubeconfigPath, args(ns)...).Ends(t, 0)
			} else {
				e2etest.Plugin(t, c.KubeconfigPath, args(ns)...)
			}
			if out := left(t, ns); strings.TrimSpace(out) != "" {
				t.Errorf("left:\n%s", out)
			}
		})
	}
}
