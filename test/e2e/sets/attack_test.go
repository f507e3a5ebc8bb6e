package sets_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// Two parallel runs of one set with different --history run one after the other. The later one's
// limit applies to the history, and its rollback leads to the earlier one.
func TestConcurrentRunsWithDifferentHistoryLimits(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	apply := func(version string, args ...string) []string {
		return append([]string{"apply", "-n", ns, "--apply-set=web", "--run-id=run-" + version, "--lock-timeout=5m", "-f", e2etest.File(t, e2etest.ConfigMaps(20, 1, version))}, args...)
	}
	for _, version := range []string{"1", "2", "3", "4"} {
		e2etest.Plugin(t, c.KubeconfigPath, apply(version)...).Ends(t, 0)
	}
	all, one := e2etest.Start(t, c.KubeconfigPath, apply("5")...), e2etest.Start(t, c.KubeconfigPath, apply("6", "--history=1")...)
	all.Wait(t)
	one.Wait(t)
	all.Ends(t, 0)
	one.Ends(t, 0)
	kept := runs(t, c, ns)
	last := strings.TrimPrefix(kept[len(kept)-1], "run-")
	other := map[string]string{"5": "6", "6": "5"}[last]
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != last {
		t.Errorf("the last run in the history is run-%s, but the value is %s", last, got)
	}
	if want := map[string]int{"5": 3, "6": 2}[last]; len(kept) != want {
		t.Errorf("the history contains %s, want %d runs", kept, want)
	}
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "rollback", "web", "-n", ns, "--yes").Ends(t, 0).Says(t, "back to run run-"+other)
}

// A parent's name may be as long as the server allows, and its kind identifies the set, too: two
// sets share neither a Lease nor a history.
func TestSetsWithSameNameAndDifferentKinds(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	const longest = 253
	name := strings.Repeat("a", longest)
	objects := func(prefix, version string) string {
		return e2etest.File(t, strings.ReplaceAll(e2etest.ConfigMaps(2, 1, version), "{name: cm-", "{name: "+prefix+"-"))
	}
	sets := map[string]string{"secret": name, "configmap": "configmap/" + name}
	for kind, set := range sets {
		for _, version := range []string{"1", "2"} {
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set="+set, "--prune", "--run-id=run-"+version, "-f", objects(kind, version)).Ends(t, 0).
				Says(t, map[string]string{"1": "2 created", "2": "2 configured"}[version])
		}
	}
	if leases := strings.Fields(e2etest.Kubectl(t, c, "get", "leases", "-n", ns, "-o", "name")); len(leases) != 2 {
		t.Errorf("Leases: %s", leases)
	}
	if reported := e2etest.Kubectl(t, c, "get", "events", "-n", ns, "--field-selector=reason=RunSucceeded", "-o", "name"); len(strings.Fields(reported)) != 4 {
		t.Errorf("Events: %s", reported)
	}
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "rollback", name, "-n", ns, "--yes").Ends(t, 0)
	if one, two := e2etest.ValueOf(t, c, ns, "secret-0000"), e2etest.ValueOf(t, c, ns, "configmap-0000"); one != "1" || two != "2" {
		t.Errorf("the values are %s and %s, want 1 and 2", one, two)
	}
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "delete", name, "-n", ns, "--yes").Ends(t, 0)
	if there := e2etest.Kubectl(t, c, "get", "configmaps", "-n", ns, "-l", "applyset.kubernetes.io/part-of", "-o", "name"); len(strings.Fields(there)) != 2 {
		t.Errorf("the other set contains %s, want 2 objects", there)
	}
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "rollback", "configmap/"+name, "-n", ns, "--yes").Ends(t, 0).Says(t, "back to run run-1")
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "delete", "configmap/"+name, "-n", ns, "--yes").Ends(t, 0)
	if left := e2etest.Kubectl(t, c, "get", "secrets,leases", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}
}

// A run of another set is never a run of this one, whatever its id. If an id was used twice, the
// run has to be named with its digest.
func TestRollbackToAnotherSetsRun(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	apply := func(set, run, version string) {
		text := strings.ReplaceAll(e2etest.ConfigMaps(2, 1, version), "{name: cm-", "{name: "+set+"-")
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set="+set, "--run-id="+run, "-f", e2etest.File(t, text)).Ends(t, 0)
	}
	for _, version := range []string{"1", "2"} {
		apply("ours", "ours-"+version, version)
		apply("theirs", "theirs-"+version, version)
	}
	back := func(args ...string) *e2etest.Run {
		return e2etest.Plugin(t, c.KubeconfigPath, append([]string{"sets", "rollback", "ours", "-n", ns, "--yes"}, args...)...)
	}
	back("--to=theirs-1").Ends(t, 2).Says(t, "the history has no run theirs-1").Offers(t, "ours-2", "ours-1")
	back("--run-id=ours-1").Ends(t, 0).Says(t, "back to run ours-1")
	if got := e2etest.ValueOf(t, c, ns, "ours-0000"); got != "1" {
		t.Errorf("the value is %s, want 1", got)
	}
	// The rollback used the id of the run that it goes back to, so that id is now the last run.
	back().Ends(t, 0).Says(t, "back to run ours-2")
	apply("ours", "ours-2", "3")
	back("--to=ours-2").Ends(t, 2).Says(t, "the history has 2 runs with the id ours-2").Says(t, "name one of them:\n    ours-2.")
}

// If a namespace terminates during a rollback, the run ends with an error that names what it could
// not write. With --atomic, the rest is restored. Nothing hangs.
func TestNamespaceDeletedDuringRollback(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	for _, atomic := range []bool{false, true} {
		t.Run(fmt.Sprint("atomic ", atomic), func(t *testing.T) {
			p, kubeconfig := e2etest.Proxied(t, c)
			home, other := e2etest.Namespace(t, c), e2etest.Namespace(t, c)
			kubeconfig = inNamespace(t, kubeconfig, home)
			for _, version := range []string{"1", "2"} {
				text := e2etest.ConfigMaps(2, 1, version) + strings.ReplaceAll(e2etest.ConfigMaps(2, 1, version), "{name: cm-", "{namespace: "+other+", name: there-")
				e2etest.Plugin(t, kubeconfig, "apply", "--apply-set=web", "--run-id=run-"+version, "--concurrency=1", "-f", e2etest.File(t, text)).Ends(t, 0)
			}
			writes := func(r *http.Request) bool {
				return proxy.Path("PATCH", "/api/v1/namespaces/"+other+"/configmaps/")(r) && !strings.Contains(r.URL.RawQuery, "dryRun")
			}
			e2etest.Before(p, writes, func() {
				e2etest.Kubectl(t, c, "delete", "namespace", other)
			})
			args := []string{"sets", "rollback", "web", "--yes"}
			if atomic {
				args = append(args, "--atomic")
			}
			e2etest.Plugin(t, kubeconfig, args...).Ends(t, 1).Says(t, "2 configured, 2 failed").Says(t, `namespaces "`+other+`" not found`)
			want := "1"
			if atomic {
				want = "2"
			}
			if got := e2etest.ValueOf(t, c, home, "cm-0000"); got != want {
				t.Errorf("the value is %s, want %s", got, want)
			}
			// The next rollback continues this one, instead of going back to the run that it was to leave.
			e2etest.Plugin(t, kubeconfig, "sets", "rollback", "web").Says(t, "back to run run-1")
		})
	}
}
