package sets_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// sets delete waits for another run of the set, which extends the parent meanwhile: that run's
// objects are deleted, too. Decisions use only data read under the lock.
func TestSetDeletedAfterItGrew(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(1, 1, "1")))...).Ends(t, 0)
	grown := e2etest.ConfigMaps(1, 1, "1") + "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: later}}\n"
	e2etest.Before(p, proxy.Path("GET", "/apis/coordination.k8s.io/"), func() {
		e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, grown))...).Ends(t, 0)
	})
	r := e2etest.Plugin(t, kubeconfig, "sets", "delete", "shop", "-n", ns, "--yes").Ends(t, 0)
	if left := e2etest.Kubectl(t, c, "get", "serviceaccount", "later", "-n", ns, "--ignore-not-found", "-o", "name"); left != "" {
		t.Errorf("%s is left, but its set was deleted: %s", strings.TrimSpace(left), r)
	}
}

// A namespace of the set is gone, and with it the rights in it. The run of a user who can see that
// continues; other users get a hint.
func TestNamespaceOfASetIsGone(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	c.OwnOnly(t)
	home, other := e2etest.Namespace(t, c), e2etest.Namespace(t, c)
	const user = "tidy"
	for _, ns := range []string{home, other} {
		e2etest.Kubectl(t, c, "create", "role", user, "-n", ns, "--verb=*", "--resource=*.*")
		e2etest.Kubectl(t, c, "create", "rolebinding", user, "-n", ns, "--role="+user, "--user="+user)
	}
	kubeconfig, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), c.Binary("kubectl"),
		"config", "set-context", "--current", "--namespace="+home, "--kubeconfig="+kubeconfig).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	apply := func(set string) []string {
		return []string{"apply", "-f", e2etest.File(t, set), "--apply-set=shop", "--prune"}
	}
	rest := e2etest.ConfigMaps(2, 1, "1")
	e2etest.Plugin(t, kubeconfig, apply(rest+strings.ReplaceAll(e2etest.ConfigMaps(1, 1, "1"), "{name: cm-0000}", "{name: there, namespace: "+other+"}"))...).Ends(t, 0)
	e2etest.Kubectl(t, c, "delete", "namespace", other)

	e2etest.Plugin(t, kubeconfig, apply(rest)...).Ends(t, 2).
		Says(t, "hint: if the namespace "+other+" no longer exists, remove it from the annotation applyset.kubernetes.io/additional-namespaces of secret/shop -n "+home)
	e2etest.Kubectl(t, c, "create", "clusterrole", user+"-"+home, "--verb=get", "--resource=namespaces")
	e2etest.Kubectl(t, c, "create", "clusterrolebinding", user+"-"+home, "--clusterrole="+user+"-"+home, "--user="+user)
	t.Cleanup(func() {
		_ = e2etest.KubectlCommand(t, c, "delete", "clusterrole,clusterrolebinding", user+"-"+home).Run()
	})
	e2etest.Until(t, "it may look at namespaces", func() bool {
		return e2etest.KubectlCommand(t, c, "auth", "can-i", "get", "namespaces", "--as="+user).Run() == nil
	})
	e2etest.Plugin(t, kubeconfig, apply(rest)...).Ends(t, 0).Says(t, "2 unchanged")
	if left := e2etest.Kubectl(t, c, "get", "secret", "shop", "-n", home, "-o", `jsonpath={.metadata.annotations.applyset\.kubernetes\.io/additional-namespaces}`); left != "" {
		t.Errorf("the parent still lists the namespace %s", left)
	}
	e2etest.Plugin(t, kubeconfig, "sets", "delete", "shop", "--yes").Ends(t, 0)
}

// An applied object that has an owner reference is a member like any other: it is pruned, and
// deleted with its set.
func TestOwnedMemberOfASet(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "configmap", "owner", "-n", ns)
	uid := e2etest.Kubectl(t, c, "get", "configmap", "owner", "-n", ns, "-o", "jsonpath={.metadata.uid}")
	owned := func(name string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: " + uid + "}]}\n"
	}
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(3, 1, "1")+owned("left")+owned("stays")))...).Ends(t, 0)
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(3, 1, "1")+owned("stays")))...).Ends(t, 0).Says(t, "pruned      configmap/left")
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", ns, "--yes").Ends(t, 0)
	if left := e2etest.Kubectl(t, c, "get", "configmap", "-n", ns, "-l", "applyset.kubernetes.io/part-of", "-o", "name"); left != "" {
		t.Errorf("there is still %s", left)
	}
}

// A kind in the parent's annotations that is not served is reported.
func TestUnservedKindOfASet(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	set := e2etest.File(t, e2etest.ConfigMaps(2, 1, "1"))
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, set)...).Ends(t, 0)
	e2etest.Kubectl(t, c, "annotate", "secret", "shop", "-n", ns, "--overwrite", "applyset.kubernetes.io/contains-group-kinds=ConfigMap,Gizmo.example.com")
	const message = "lists Gizmo.example.com among the kinds of its members"
	e2etest.Plugin(t, c.KubeconfigPath, "diff", "-f", set, "-n", ns, "--apply-set=shop", "--prune").Ends(t, 0).Says(t, message)
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", ns, "--yes").Ends(t, 0).Says(t, message)
}

// If another client deletes a set's parent, the next run reports that, recreates it, and still
// finds the members, including those of kinds that are no longer in the input.
func TestParentOfASetIsGone(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	left := "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: left}}\n"
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(4, 1, "1")+left))...).Ends(t, 0)
	e2etest.Kubectl(t, c, "delete", "secret", "shop", "-n", ns)
	set := e2etest.File(t, e2etest.ConfigMaps(3, 1, "1"))
	message := "secret/shop -n " + ns + ": is gone, but 5 members of its set were found, so the parent is created again"
	e2etest.Plugin(t, c.KubeconfigPath, "diff", "-f", set, "-n", ns, "--apply-set=shop", "--prune").Ends(t, 1).Says(t, message).Says(t, "2 to delete")
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, set)...).Ends(t, 0).Says(t, message).
		Says(t, "pruned      configmap/cm-0003").Says(t, "pruned      serviceaccount/left")
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", ns, "--yes").Ends(t, 0)
	if left := e2etest.Kubectl(t, c, "get", "configmap", "-n", ns, "-l", "applyset.kubernetes.io/part-of", "-o", "name"); left != "" {
		t.Errorf("there is still %s", left)
	}
}

// A run that waits while sets delete has the lock then finds no parent, and creates the set anew.
func TestApplyAfterItsSetWasDeleted(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(2, 1, "1"))
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, set)...).Ends(t, 0)
	e2etest.Before(p, proxy.Path("GET", "/apis/coordination.k8s.io/"), func() {
		e2etest.Plugin(t, c.KubeconfigPath, "sets", "delete", "shop", "-n", ns, "--yes").Ends(t, 0)
	})
	e2etest.Plugin(t, kubeconfig, applySet(ns, set)...).Ends(t, 0).Says(t, "2 created")
}

// The controller of aggregated ClusterRoles applies by name, so it may recreate a role that has
// just been pruned. Here another client does that at the worst moment.
func TestAggregatedRoleComesBack(t *testing.T) {
	t.Parallel() // uses only its own roles
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	role := func(name, rest string) string {
		return "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " + ns + "-" + name + ", labels: {of: " + ns + "}}, " + rest + "}\n"
	}
	const rules = "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]"
	part, whole := role("part", rules), role("whole", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {of: "+ns+"}}]}")
	set := e2etest.ConfigMaps(3, 1, "1")
	remnant := e2etest.File(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "+ns+"-whole}, "+rules+"}")
	for _, way := range [][]string{
		applySet(ns, e2etest.File(t, set)),
		{"sets", "delete", "shop", "-n", ns, "--yes"},
		{"delete", "-f", e2etest.File(t, set+part+whole), "-n", ns},
	} {
		e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, set+part+whole))...).Ends(t, 0)
		path := "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + ns
		e2etest.Before(p, proxy.Path("DELETE", path+"-part"), func() {
			e2etest.Kubectl(t, c, "apply", "--server-side", "--field-manager=clusterrole-aggregation-controller", "-f", remnant)
		})
		e2etest.Plugin(t, kubeconfig, way...).Ends(t, 0).Says(t, ns+"-whole: clusterrole-aggregation-controller had recreated it")
		if left := e2etest.Kubectl(t, c, "get", "clusterroles", "-o", "name"); strings.Contains(left, ns) {
			t.Errorf("%v leaves %s", way, left)
		}
	}
}
