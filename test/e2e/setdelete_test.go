package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// If sets delete is killed at any request and repeated, nothing of the set remains: no member,
// parent, history or Lease. make test-long tries every request, other runs some of them.
func TestSetDeleteKilledAtEachRequest(t *testing.T) {
	t.Parallel() // uses only its own namespaces
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
	// The set's objects, without those that every namespace has.
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
	for _, at := range someOf(requests) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			ns := made(t)
			killedAt(t, p, kubeconfig, at, args(ns)...)
			if freed(t, c, ns) {
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
