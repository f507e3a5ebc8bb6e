package e2e_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// sets delete waits for another run of the set, which extends the parent meanwhile: that run's
// objects are deleted, too. Decisions use only data read under the lock.
func TestSetDeletedAfterItGrew(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(1, 1, "1")))...).ends(t, 0)
	grown := configMaps(1, 1, "1") + "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: later}}\n"
	before(p, proxy.Path("GET", "/apis/coordination.k8s.io/"), func() {
		k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, grown))...).ends(t, 0)
	})
	r := k8sconnect(t, kubeconfig, "sets", "delete", "shop", "-n", ns, "--yes").ends(t, 0)
	if left := kubectl(t, c, "get", "serviceaccount", "later", "-n", ns, "--ignore-not-found", "-o", "name"); left != "" {
		t.Errorf("%s is left, but its set was deleted: %s", strings.TrimSpace(left), r)
	}
}

// A namespace of the set is gone, and with it the rights in it. The run of a user who can see that
// continues; other users get a hint.
func TestNamespaceOfASetIsGone(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	c.OwnOnly(t)
	home, other := namespace(t, c), namespace(t, c)
	const user = "tidy"
	for _, ns := range []string{home, other} {
		kubectl(t, c, "create", "role", user, "-n", ns, "--verb=*", "--resource=*.*")
		kubectl(t, c, "create", "rolebinding", user, "-n", ns, "--role="+user, "--user="+user)
	}
	kubeconfig, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), c.Binary("kubectl"),
		"config", "set-context", "--current", "--namespace="+home, "--kubeconfig="+kubeconfig).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	apply := func(set string) []string { return []string{"apply", "-f", file(t, set), "--apply-set=shop", "--prune"} }
	rest := configMaps(2, 1, "1")
	k8sconnect(t, kubeconfig, apply(rest+strings.ReplaceAll(configMaps(1, 1, "1"), "{name: cm-0000}", "{name: there, namespace: "+other+"}"))...).ends(t, 0)
	kubectl(t, c, "delete", "namespace", other)

	k8sconnect(t, kubeconfig, apply(rest)...).ends(t, 2).
		says(t, "hint: if the namespace "+other+" no longer exists, remove it from the annotation applyset.kubernetes.io/additional-namespaces of secret/shop -n "+home)
	kubectl(t, c, "create", "clusterrole", user+"-"+home, "--verb=get", "--resource=namespaces")
	kubectl(t, c, "create", "clusterrolebinding", user+"-"+home, "--clusterrole="+user+"-"+home, "--user="+user)
	t.Cleanup(func() {
		_ = kubectlCommand(t, c, "delete", "clusterrole,clusterrolebinding", user+"-"+home).Run()
	})
	until(t, "it may look at namespaces", func() bool {
		return kubectlCommand(t, c, "auth", "can-i", "get", "namespaces", "--as="+user).Run() == nil
	})
	k8sconnect(t, kubeconfig, apply(rest)...).ends(t, 0).says(t, "2 unchanged")
	if left := kubectl(t, c, "get", "secret", "shop", "-n", home, "-o", `jsonpath={.metadata.annotations.applyset\.kubernetes\.io/additional-namespaces}`); left != "" {
		t.Errorf("the parent still lists the namespace %s", left)
	}
	k8sconnect(t, kubeconfig, "sets", "delete", "shop", "--yes").ends(t, 0)
}

// An applied object that has an owner reference is a member like any other: it is pruned, and
// deleted with its set.
func TestOwnedMemberOfASet(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	kubectl(t, c, "create", "configmap", "owner", "-n", ns)
	uid := kubectl(t, c, "get", "configmap", "owner", "-n", ns, "-o", "jsonpath={.metadata.uid}")
	owned := func(name string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: " + uid + "}]}\n"
	}
	k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(3, 1, "1")+owned("left")+owned("stays")))...).ends(t, 0)
	k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(3, 1, "1")+owned("stays")))...).ends(t, 0).says(t, "pruned      configmap/left")
	k8sconnect(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", ns, "--yes").ends(t, 0)
	if left := kubectl(t, c, "get", "configmap", "-n", ns, "-l", "applyset.kubernetes.io/part-of", "-o", "name"); left != "" {
		t.Errorf("there is still %s", left)
	}
}

// A kind in the parent's annotations that is not served is reported.
func TestUnservedKindOfASet(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	set := file(t, configMaps(2, 1, "1"))
	k8sconnect(t, c.KubeconfigPath, applySet(ns, set)...).ends(t, 0)
	kubectl(t, c, "annotate", "secret", "shop", "-n", ns, "--overwrite", "applyset.kubernetes.io/contains-group-kinds=ConfigMap,Gizmo.example.com")
	const message = "lists Gizmo.example.com among the kinds of its members"
	k8sconnect(t, c.KubeconfigPath, "diff", "-f", set, "-n", ns, "--apply-set=shop", "--prune").ends(t, 0).says(t, message)
	k8sconnect(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", ns, "--yes").ends(t, 0).says(t, message)
}

// If another client deletes a set's parent, the next run reports that, recreates it, and still
// finds the members, including those of kinds that are no longer in the input.
func TestParentOfASetIsGone(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	left := "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: left}}\n"
	k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(4, 1, "1")+left))...).ends(t, 0)
	kubectl(t, c, "delete", "secret", "shop", "-n", ns)
	set := file(t, configMaps(3, 1, "1"))
	message := "secret/shop -n " + ns + ": is gone, but 5 members of its set were found, so the parent is created again"
	k8sconnect(t, c.KubeconfigPath, "diff", "-f", set, "-n", ns, "--apply-set=shop", "--prune").ends(t, 1).says(t, message).says(t, "2 to delete")
	k8sconnect(t, c.KubeconfigPath, applySet(ns, set)...).ends(t, 0).says(t, message).
		says(t, "pruned      configmap/cm-0003").says(t, "pruned      serviceaccount/left")
	k8sconnect(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", ns, "--yes").ends(t, 0)
	if left := kubectl(t, c, "get", "configmap", "-n", ns, "-l", "applyset.kubernetes.io/part-of", "-o", "name"); left != "" {
		t.Errorf("there is still %s", left)
	}
}

// A run that waits while sets delete has the lock then finds no parent, and creates the set anew.
func TestApplyAfterItsSetWasDeleted(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns, set := namespace(t, c), file(t, configMaps(2, 1, "1"))
	k8sconnect(t, c.KubeconfigPath, applySet(ns, set)...).ends(t, 0)
	before(p, proxy.Path("GET", "/apis/coordination.k8s.io/"), func() {
		k8sconnect(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", ns, "--yes").ends(t, 0)
	})
	k8sconnect(t, kubeconfig, applySet(ns, set)...).ends(t, 0).says(t, "2 created")
}

// The controller of aggregated ClusterRoles applies by name, so it may recreate a role that has
// just been pruned. Here another client does that at the worst moment.
func TestAggregatedRoleComesBack(t *testing.T) {
	t.Parallel() // uses only its own roles
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	role := func(name, rest string) string {
		return "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " + ns + "-" + name + ", labels: {of: " + ns + "}}, " + rest + "}\n"
	}
	const rules = "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]"
	part, whole := role("part", rules), role("whole", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {of: "+ns+"}}]}")
	set := configMaps(3, 1, "1")
	remnant := file(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "+ns+"-whole}, "+rules+"}")
	for _, way := range [][]string{
		applySet(ns, file(t, set)),
		{"sets", "delete", "shop", "-n", ns, "--yes"},
		{"delete", "-f", file(t, set+part+whole), "-n", ns},
	} {
		k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, set+part+whole))...).ends(t, 0)
		path := "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + ns
		before(p, proxy.Path("DELETE", path+"-part"), func() {
			kubectl(t, c, "apply", "--server-side", "--field-manager=clusterrole-aggregation-controller", "-f", remnant)
		})
		k8sconnect(t, kubeconfig, way...).ends(t, 0).says(t, ns+"-whole: clusterrole-aggregation-controller had recreated it")
		if left := kubectl(t, c, "get", "clusterroles", "-o", "name"); strings.Contains(left, ns) {
			t.Errorf("%v leaves %s", way, left)
		}
	}
}
