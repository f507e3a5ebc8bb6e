package sets_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// runs returns the ids of the history's runs, the oldest first.
func runs(t *testing.T, c *cluster.Cluster, ns string) []string {
	t.Helper()
	return strings.Fields(e2etest.Kubectl(t, c, "get", "secrets", "-n", ns, "-l", "k8sconnect.io/history-of", "--sort-by={.metadata.annotations.k8sconnect\\.io/started}",
		"-o", `jsonpath={.items[*].metadata.annotations.k8sconnect\.io/run}`))
}

// forget deletes a run's Secrets.
func forget(t *testing.T, c *cluster.Cluster, ns, run string) {
	t.Helper()
	names := e2etest.Kubectl(t, c, "get", "secrets", "-n", ns, "-l", "k8sconnect.io/history-of",
		"-o", `jsonpath={.items[?(@.metadata.annotations.k8sconnect\.io/run=="`+run+`")].metadata.name}`)
	e2etest.Kubectl(t, c, append([]string{"delete", "secret", "-n", ns}, strings.Fields(names)...)...)
}

// With a gap in the history, the suggested rollback leads to the same run as without the gap, or
// there is none: it never goes back too far.
func TestRollbackOverAGap(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	apply := func(version string, args ...string) *e2etest.Run {
		return e2etest.Plugin(t, kubeconfig, append([]string{"apply", "-n", ns, "--apply-set=web", "--run-id=run-" + version, "-f", e2etest.File(t, e2etest.ConfigMaps(2, 1, version))}, args...)...).Ends(t, 0)
	}
	back := func(args ...string) *e2etest.Run {
		return e2etest.Plugin(t, kubeconfig, append([]string{"sets", "rollback", "web", "-n", ns}, args...)...)
	}
	for _, version := range []string{"1", "2", "3"} {
		apply(version)
	}
	forget(t, c, ns, "run-3")
	back().Ends(t, 1).Says(t, "the last run, run-3, is not in the history").Says(t, "rolling back to run run-2 from")
	back("--to=run-3").Ends(t, 2).Says(t, "cannot roll back to run run-3: it is not in the history").Offers(t, "run-2", "run-1")
	e2etest.Plugin(t, kubeconfig, "sets", "web", "-n", ns).Ends(t, 0)

	// A quota keeps the next run out of the history, and the run after that still follows it.
	p.Fail(-1, proxy.Path("PATCH", "/api/v1/namespaces/"+ns+"/secrets/applyset-"), proxy.Fault{Status: 403, Message: "exceeded quota: secrets"})
	apply("4").Says(t, "cannot be rolled back to this run")
	p.Heal()
	back().Ends(t, 2).Says(t, "cannot roll back to run run-3: it is not in the history")
	apply("5")
	back().Ends(t, 2).Says(t, "cannot roll back to run run-4: it is not in the history").Offers(t, "run-5", "run-2", "run-1")
	// --history=0 has the same effect.
	apply("6", "--history=0")
	if got := runs(t, c, ns); strings.Join(got, " ") != "run-1 run-2 run-5" {
		t.Errorf("the history contains %s, want run-1, run-2 and run-5", got)
	}
	back().Ends(t, 1).Says(t, "the last run, run-6, is not in the history").Says(t, "rolling back to run run-5 from")
	// A run with the same manifests as the last stored run, but not as the last run, is stored as a
	// new run.
	apply("5", "--run-id=run-7")
	back().Ends(t, 2).Says(t, "cannot roll back to run run-6")
	back("--to=run-2", "--yes").Ends(t, 0)
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "2" {
		t.Errorf("the value is %s, want 2", got)
	}
}

// A run with --history=0 reads no history. It knows its predecessor if the last run with the lock
// released it, even if that one applied nothing. Otherwise the suggested rollback is reported as
// unknown.
func TestPredecessorOfRunWithoutHistory(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	apply := func(version string, args ...string) *e2etest.Run {
		return e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "-n", ns, "--apply-set=web", "--run-id=run-" + version, "-f", e2etest.File(t, e2etest.ConfigMaps(2, 1, version))}, args...)...)
	}
	back := func() *e2etest.Run { return e2etest.Plugin(t, c.KubeconfigPath, "sets", "rollback", "web", "-n", ns) }
	// According to the Lease, another program has had the lock.
	unsure := func() {
		e2etest.Kubectl(t, c, "annotate", "lease", e2etest.Lease(t, c, ns), "-n", ns, "--overwrite", "k8sconnect.io/stated-in=99")
	}
	apply("1").Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=web", "--prune", "-f", e2etest.File(t, strings.ReplaceAll(e2etest.ConfigMaps(1, 1, "1"), "cm-", "other-"))).Ends(t, 1)
	apply("2", "--history=0").Ends(t, 0)
	back().Ends(t, 1).Says(t, "rolling back to run run-1 from")

	apply("3").Ends(t, 0)
	unsure()
	apply("3").Ends(t, 0)
	apply("4", "--history=0").Ends(t, 0)
	back().Ends(t, 1).Says(t, "rolling back to run run-3 from")

	unsure()
	apply("5", "--history=0").Ends(t, 0)
	back().Ends(t, 2).Says(t, "the run before run run-5 is not recorded").Says(t, "name one with --to; ").Offers(t, "run-3", "run-1")
}

// A rollback that gets the lock after another run has changed the set would go back one run too
// far: it is refused, even with --yes. A rollback to a named run is not.
func TestRollbackAfterAnotherRun(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	apply := func(version string) {
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=web", "--run-id=run-"+version, "-f", e2etest.File(t, e2etest.ConfigMaps(2, 1, version))).Ends(t, 0)
	}
	back := func(between string, args ...string) *e2etest.Run {
		reads := 0
		locks := func(r *http.Request) bool {
			if proxy.Path("GET", "/apis/coordination.k8s.io/")(r) {
				reads++
			}
			return reads == 2 // the first one names the last run
		}
		e2etest.Before(p, locks, func() { apply(between) })
		return e2etest.Plugin(t, kubeconfig, append([]string{"sets", "rollback", "web", "-n", ns, "--yes"}, args...)...)
	}
	apply("1")
	apply("2")
	back("3").Ends(t, 1).Says(t, "nothing was done: run run-3 has changed the set in the meantime")
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "3" {
		t.Errorf("the value is %s, want 3", got)
	}
	back("4", "--to=run-1").Ends(t, 0)
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "1" {
		t.Errorf("the value is %s, want 1", got)
	}
}
