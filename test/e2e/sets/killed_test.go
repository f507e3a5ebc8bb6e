package sets_test

import (
	"fmt"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A rollback that is killed at any request and repeated has the same result as an uninterrupted
// one: the earlier run's objects, none created twice, and no newer objects.
func TestRollbackKilledAtEachRequest(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	const n = 8
	first, second := e2etest.File(t, e2etest.ConfigMaps(n, 1, "1")), e2etest.File(t, e2etest.Without(e2etest.ConfigMaps(n+2, 1, "2"), "cm-0000"))
	made := func(t *testing.T) string {
		ns := e2etest.Namespace(t, c)
		e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, first, "--run-id=first")...).Ends(t, 0)
		e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, second)...).Ends(t, 0)
		return ns
	}
	args := func(ns string) []string { return []string{"sets", "rollback", "shop", "--to=first", "-n", ns, "--yes"} }
	right := func(t *testing.T, ns string) {
		t.Helper()
		live := values(t, c, ns)
		for i := range n {
			if name := fmt.Sprintf("cm-%04d", i); live[name] != "1" {
				t.Errorf("%s is %q, want 1", name, live[name])
			}
		}
		if len(live) != n {
			t.Errorf("%d objects, want %d: %v", len(live), n, live)
		}
	}
	ns := made(t)
	from := len(p.Requests())
	e2etest.Plugin(t, kubeconfig, args(ns)...).Ends(t, 0)
	requests := len(p.Requests()) - from
	right(t, ns)
	for _, at := range e2etest.SomeOf(requests) {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			ns := made(t)
			e2etest.KilledAt(t, p, kubeconfig, at, args(ns)...)
			there := e2etest.UIDs(t, c, ns)
			e2etest.Freed(t, c, ns)
			e2etest.Plugin(t, c.KubeconfigPath, args(ns)...).Ends(t, 0)
			right(t, ns)
			for name, uid := range e2etest.UIDs(t, c, ns) {
				if was := there[name]; was != "" && was != uid {
					t.Errorf("%s was created twice", name)
				}
			}
			// The killed run is not a target for a rollback.
			e2etest.Plugin(t, c.KubeconfigPath, "sets", "rollback", "shop", "-n", ns, "--yes").Ends(t, 0)
			if live := values(t, c, ns); len(live) != n+1 || live["cm-0001"] != "2" {
				t.Errorf("after the second rollback, the objects are %v, want those before the first one", live)
			}
		})
	}
}
