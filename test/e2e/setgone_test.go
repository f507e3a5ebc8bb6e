package e2e_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// If a user deletes the parent during a run, the run reports it. The next run recreates the parent,
// and prunes the same objects.
func TestParentDeletedDuringRun(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	message := "secret/shop -n NS: was deleted during this run"
	for name, second := range map[string]string{"the same kinds": configMaps(3, 1, "2"), "a prune": configMaps(2, 1, "2")} {
		t.Run(name, func(t *testing.T) {
			ns := namespace(t, c)
			left := "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: left}}\n"
			k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(3, 1, "1")+left))...).ends(t, 0)
			before(p, proxy.Path("PATCH", "/api/v1/namespaces/"+ns+"/configmaps/cm-0001"), func() {
				kubectl(t, c, "delete", "secret", "shop", "-n", ns)
			})
			t.Cleanup(p.Heal)
			k8sconnect(t, kubeconfig, applySet(ns, file(t, second+left))...).ends(t, 0).
				says(t, strings.ReplaceAll(message, "NS", ns))
			p.Heal()
			k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(2, 1, "2")))...).ends(t, 0).
				says(t, "so the parent is created again").says(t, "pruned      serviceaccount/left")
			kubectl(t, c, "get", "secret", "shop", "-n", ns)
		})
	}
}

// Sets with the same name in two namespaces are independent, even if the objects of one are in the
// other's namespace.
func TestTwoSetsWithSameName(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	one, two := namespace(t, c), namespace(t, c)
	guest := "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: guest, namespace: " + two + "}}\n"
	_, kubeconfig := proxied(t, c)
	kubeconfig = inNamespace(t, kubeconfig, one)
	ofOne := func(text string) []string {
		return []string{"apply", "-f", file(t, text), "--apply-set=shop", "--prune"}
	}
	k8sconnect(t, kubeconfig, ofOne(configMaps(3, 1, "1")+guest)...).ends(t, 0)
	k8sconnect(t, c.KubeconfigPath, applySet(two, file(t, configMaps(3, 1, "1")))...).ends(t, 0)
	k8sconnect(t, kubeconfig, ofOne(configMaps(2, 1, "2")+guest)...).ends(t, 0).says(t, "1 pruned")
	k8sconnect(t, c.KubeconfigPath, applySet(two, file(t, configMaps(2, 1, "2")))...).ends(t, 0).says(t, "1 pruned")
	k8sconnect(t, c.KubeconfigPath, "sets", "rollback", "shop", "-n", two, "--yes").ends(t, 0).says(t, "1 created")
	if there := uids(t, c, one); len(there) != 2 {
		t.Errorf("the rollback of one set changed the other: %v", there)
	}
	k8sconnect(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", two, "--yes").ends(t, 0)
	kubectl(t, c, "get", "configmap/guest", "-n", two)
	k8sconnect(t, kubeconfig, "sets", "rollback", "shop", "--yes").ends(t, 0).says(t, "1 created")
	if there := uids(t, c, two); len(there) != 0 {
		t.Errorf("objects of the deleted set exist: %v", there)
	}
	kubectl(t, c, "get", "configmap/guest", "-n", two)
	k8sconnect(t, kubeconfig, "sets", "delete", "shop", "--yes").ends(t, 0).says(t, "configmap/guest -n "+two)
}

// A rollback never skips a damaged run of the history. The set can still be shown, applied and
// deleted.
func TestRollbackOverADamagedRun(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	apply := func(version string) {
		k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(2, 1, version)), "--run-id=run-"+version)...).ends(t, 0)
	}
	for _, version := range []string{"1", "2", "3"} {
		apply(version)
	}
	runs := strings.Fields(kubectl(t, c, "get", "secrets", "-n", ns, "-l", "k8sconnect.io/history-of", "-o", "name",
		"--sort-by={.metadata.annotations.k8sconnect\\.io/started}"))
	if len(runs) != 3 {
		t.Fatalf("the history contains %v, want 3 runs", runs)
	}
	damage := func(i int) {
		kubectl(t, c, "patch", runs[i], "-n", ns, "--type=merge", "-p", `{"data":{"objects":"H4sIAAAA"}}`)
	}
	back := func(args ...string) *run {
		return k8sconnect(t, c.KubeconfigPath, append([]string{"sets", "rollback", "shop", "-n", ns, "--yes"}, args...)...)
	}
	damage(1)
	back().ends(t, 2).says(t, "cannot roll back to run run-2: its manifests cannot be read").offers(t, "run-3", "run-1")
	if got := value(t, c, ns, "cm-0000"); got != "3" {
		t.Errorf("the value is %s, want 3", got)
	}
	damage(2)
	k8sconnect(t, c.KubeconfigPath, "sets", "shop", "-n", ns).ends(t, 0)
	back("--to=run-1").ends(t, 0).says(t, "2 configured")
	if got := value(t, c, ns, "cm-0000"); got != "1" {
		t.Errorf("the value is %s, want 1", got)
	}
	apply("4")
	k8sconnect(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", ns, "--yes").ends(t, 0)
	if left := kubectl(t, c, "get", "secrets", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("there is still %s", left)
	}
}

// Another client deletes a member's namespace while the member is pruned: the member is removed
// either way, and the parent's list of namespaces shrinks.
func TestNamespaceTerminatesDuringAPrune(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	home, other := namespace(t, c), namespace(t, c)
	kubeconfig = inNamespace(t, kubeconfig, home)
	guests := "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: guest, namespace: " + other + "}}\n" +
		"---\n{apiVersion: v1, kind: Service, metadata: {name: guest, namespace: " + other + "}, spec: {ports: [{port: 80}]}}\n"
	apply := func(text string) []string {
		return []string{"apply", "-f", file(t, text), "--apply-set=shop", "--prune"}
	}
	k8sconnect(t, kubeconfig, apply(configMaps(3, 1, "1")+guests)...).ends(t, 0)
	before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+other+"/configmaps/guest"), func() {
		kubectl(t, c, "delete", "namespace", other, "--wait=false")
	})
	t.Cleanup(p.Heal)
	r := k8sconnect(t, kubeconfig, apply(configMaps(3, 1, "1"))...).ends(t, 0).says(t, "2 pruned")
	if promised := kubectl(t, c, "get", "secret", "shop", "-n", home, "-o", "jsonpath={.metadata.annotations}"); strings.Contains(promised, other) || strings.Contains(promised, "Service") {
		t.Errorf("the annotations of the parent are %s, want neither the namespace nor Service: %s", promised, r)
	}
}

// If rights are lost during a prune, the report names them. Applied objects stay, the parent still
// covers what was not pruned, and the next run with the rights finishes.
func TestRightsLostDuringAPrune(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	user := "fired-" + ns
	kubectl(t, c, "create", "role", user, "-n", ns, "--verb=*", "--resource=*.*")
	kubectl(t, c, "create", "rolebinding", user, "-n", ns, "--role="+user, "--user="+user)
	left := "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: left}}\n"
	set := file(t, configMaps(3, 1, "1"))
	k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(3, 1, "1")+left))...).ends(t, 0)
	mayDelete := func() error {
		return kubectlCommand(t, c, "auth", "can-i", "delete", "serviceaccounts", "-n", ns, "--as="+user).Run()
	}
	until(t, "the rights are there", func() bool { return mayDelete() == nil })
	before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+ns+"/serviceaccounts/left"), func() {
		kubectl(t, c, "delete", "rolebinding", user, "-n", ns)
		until(t, "the rights are gone", func() bool { return mayDelete() != nil })
	})
	t.Cleanup(p.Heal)
	r := k8sconnect(t, kubeconfig, applySet(ns, set, "--as="+user)...)
	r.ends(t, 2).says(t, `unknown     serviceaccount/left`).says(t, `cannot delete resource "serviceaccounts"`).
		says(t, "the lock of the set was not released")
	p.Heal()
	if promised := kubectl(t, c, "get", "secret", "shop", "-n", ns, "-o", "jsonpath={.metadata.annotations}"); !strings.Contains(promised, "ServiceAccount") {
		t.Errorf("the annotations of the parent are %s, want ServiceAccount among the kinds: %s", promised, r)
	}
	freed(t, c, ns)
	k8sconnect(t, c.KubeconfigPath, applySet(ns, set)...).ends(t, 0).says(t, "pruned      serviceaccount/left")
}
