package sets_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// If a user deletes the parent during a run, the run reports it. The next run recreates the parent,
// and prunes the same objects.
func TestParentDeletedDuringRun(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	message := "secret/shop -n NS: was deleted during this run"
	for name, second := range map[string]string{"the same kinds": e2etest.ConfigMaps(3, 1, "2"), "a prune": e2etest.ConfigMaps(2, 1, "2")} {
		t.Run(name, func(t *testing.T) {
			ns := e2etest.Namespace(t, c)
			left := "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: left}}\n"
			e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(3, 1, "1")+left))...).Ends(t, 0)
			e2etest.Before(p, proxy.Path("PATCH", "/api/v1/namespaces/"+ns+"/configmaps/cm-0001"), func() {
				e2etest.Kubectl(t, c, "delete", "secret", "shop", "-n", ns)
			})
			t.Cleanup(p.Heal)
			e2etest.Plugin(t, kubeconfig, applySet(ns, e2etest.File(t, second+left))...).Ends(t, 0).
				Says(t, strings.ReplaceAll(message, "NS", ns))
			p.Heal()
			e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(2, 1, "2")))...).Ends(t, 0).
				Says(t, "so the parent is created again").Says(t, "pruned      serviceaccount/left")
			e2etest.Kubectl(t, c, "get", "secret", "shop", "-n", ns)
		})
	}
}

// Sets with the same name in two namespaces are independent, even if the objects of one are in the
// other's namespace.
func TestTwoSetsWithSameName(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	one, two := e2etest.Namespace(t, c), e2etest.Namespace(t, c)
	guest := "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: guest, namespace: " + two + "}}\n"
	_, kubeconfig := e2etest.Proxied(t, c)
	kubeconfig = inNamespace(t, kubeconfig, one)
	ofOne := func(text string) []string {
		return []string{"apply", "-f", e2etest.File(t, text), "--apply-set=shop", "--prune"}
	}
	e2etest.Plugin(t, kubeconfig, ofOne(e2etest.ConfigMaps(3, 1, "1")+guest)...).Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, applySet(two, e2etest.File(t, e2etest.ConfigMaps(3, 1, "1")))...).Ends(t, 0)
	e2etest.Plugin(t, kubeconfig, ofOne(e2etest.ConfigMaps(2, 1, "2")+guest)...).Ends(t, 0).Says(t, "1 pruned")
	e2etest.Plugin(t, c.KubeconfigPath, applySet(two, e2etest.File(t, e2etest.ConfigMaps(2, 1, "2")))...).Ends(t, 0).Says(t, "1 pruned")
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "rollback", "shop", "-n", two, "--yes").Ends(t, 0).Says(t, "1 created")
	if there := e2etest.UIDs(t, c, one); len(there) != 2 {
		t.Errorf("the rollback of one set changed the other: %v", there)
	}
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", two, "--yes").Ends(t, 0)
	e2etest.Kubectl(t, c, "get", "configmap/guest", "-n", two)
	e2etest.Plugin(t, kubeconfig, "sets", "rollback", "shop", "--yes").Ends(t, 0).Says(t, "1 created")
	if there := e2etest.UIDs(t, c, two); len(there) != 0 {
		t.Errorf("objects of the deleted set exist: %v", there)
	}
	e2etest.Kubectl(t, c, "get", "configmap/guest", "-n", two)
	e2etest.Plugin(t, kubeconfig, "sets", "delete", "shop", "--yes").Ends(t, 0).Says(t, "configmap/guest -n "+two)
}

// A rollback never skips a damaged run of the history. The set can still be shown, applied and
// deleted.
func TestRollbackOverADamagedRun(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	apply := func(version string) {
		e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(2, 1, version)), "--run-id=run-"+version)...).Ends(t, 0)
	}
	for _, version := range []string{"1", "2", "3"} {
		apply(version)
	}
	runs := strings.Fields(e2etest.Kubectl(t, c, "get", "secrets", "-n", ns, "-l", "k8sconnect.io/history-of", "-o", "name",
		"--sort-by={.metadata.annotations.k8sconnect\\.io/started}"))
	if len(runs) != 3 {
		t.Fatalf("the history contains %v, want 3 runs", runs)
	}
	damage := func(i int) {
		e2etest.Kubectl(t, c, "patch", runs[i], "-n", ns, "--type=merge", "-p", `{"data":{"objects":"H4sIAAAA"}}`)
	}
	back := func(args ...string) *e2etest.Run {
		return e2etest.Plugin(t, c.KubeconfigPath, append([]string{"sets", "rollback", "shop", "-n", ns, "--yes"}, args...)...)
	}
	damage(1)
	back().Ends(t, 2).Says(t, "cannot roll back to run run-2: its manifests cannot be read").Offers(t, "run-3", "run-1")
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "3" {
		t.Errorf("the value is %s, want 3", got)
	}
	damage(2)
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "shop", "-n", ns).Ends(t, 0)
	back("--to=run-1").Ends(t, 0).Says(t, "2 configured")
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "1" {
		t.Errorf("the value is %s, want 1", got)
	}
	apply("4")
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", ns, "--yes").Ends(t, 0)
	if left := e2etest.Kubectl(t, c, "get", "secrets", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("there is still %s", left)
	}
}

// Another client deletes a member's namespace while the member is pruned: the member is removed
// either way, and the parent's list of namespaces shrinks.
func TestNamespaceTerminatesDuringAPrune(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	home, other := e2etest.Namespace(t, c), e2etest.Namespace(t, c)
	kubeconfig = inNamespace(t, kubeconfig, home)
	guests := "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: guest, namespace: " + other + "}}\n" +
		"---\n{apiVersion: v1, kind: Service, metadata: {name: guest, namespace: " + other + "}, spec: {ports: [{port: 80}]}}\n"
	apply := func(text string) []string {
		return []string{"apply", "-f", e2etest.File(t, text), "--apply-set=shop", "--prune"}
	}
	e2etest.Plugin(t, kubeconfig, apply(e2etest.ConfigMaps(3, 1, "1")+guests)...).Ends(t, 0)
	e2etest.Before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+other+"/configmaps/guest"), func() {
		e2etest.Kubectl(t, c, "delete", "namespace", other, "--wait=false")
	})
	t.Cleanup(p.Heal)
	r := e2etest.Plugin(t, kubeconfig, apply(e2etest.ConfigMaps(3, 1, "1"))...).Ends(t, 0).Says(t, "2 pruned")
	if promised := e2etest.Kubectl(t, c, "get", "secret", "shop", "-n", home, "-o", "jsonpath={.metadata.annotations}"); strings.Contains(promised, other) || strings.Contains(promised, "Service") {
		t.Errorf("the annotations of the parent are %s, want neither the namespace nor Service: %s", promised, r)
	}
}

// If rights are lost during a prune, the report names them. Applied objects stay, the parent still
// covers what was not pruned, and the next run with the rights finishes.
func TestRightsLostDuringAPrune(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	user := "fired-" + ns
	e2etest.Kubectl(t, c, "create", "role", user, "-n", ns, "--verb=*", "--resource=*.*")
	e2etest.Kubectl(t, c, "create", "rolebinding", user, "-n", ns, "--role="+user, "--user="+user)
	left := "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: left}}\n"
	set := e2etest.File(t, e2etest.ConfigMaps(3, 1, "1"))
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(3, 1, "1")+left))...).Ends(t, 0)
	mayDelete := func() error {
		return e2etest.KubectlCommand(t, c, "auth", "can-i", "delete", "serviceaccounts", "-n", ns, "--as="+user).Run()
	}
	e2etest.Until(t, "the rights are there", func() bool { return mayDelete() == nil })
	e2etest.Before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+ns+"/serviceaccounts/left"), func() {
		e2etest.Kubectl(t, c, "delete", "rolebinding", user, "-n", ns)
		e2etest.Until(t, "the rights are gone", func() bool { return mayDelete() != nil })
	})
	t.Cleanup(p.Heal)
	r := e2etest.Plugin(t, kubeconfig, applySet(ns, set, "--as="+user)...)
	r.Ends(t, 2).Says(t, `unknown     serviceaccount/left`).Says(t, `cannot delete resource "serviceaccounts"`).
		Says(t, "the lock of the set was not released")
	p.Heal()
	if promised := e2etest.Kubectl(t, c, "get", "secret", "shop", "-n", ns, "-o", "jsonpath={.metadata.annotations}"); !strings.Contains(promised, "ServiceAccount") {
		t.Errorf("the annotations of the parent are %s, want ServiceAccount among the kinds: %s", promised, r)
	}
	e2etest.Freed(t, c, ns)
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, set)...).Ends(t, 0).Says(t, "pruned      serviceaccount/left")
}
