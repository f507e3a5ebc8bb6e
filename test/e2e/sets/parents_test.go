package sets_test

import (
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// shops is a definition whose objects may be parents of sets.
const shops = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: GROUP, labels: {applyset.kubernetes.io/is-parent-type: "true"}}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: PLURAL, singular: SINGULAR, kind: KIND}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}
`

// A custom resource can be the parent of a set, with the rights in docs/rbac.md, for all of the
// set's life, and shared with kubectl. It has to exist, and its definition has to allow it.
func TestCustomResourceAsParent(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
	definition := strings.NewReplacer("GROUP", "setshops.example.com", "PLURAL", "setshops", "SINGULAR", "setshop", "KIND", "SetShop").Replace(shops)
	e2etest.Kubectl(t, c, "apply", "-f", e2etest.File(t, definition))
	t.Cleanup(func() { _ = e2etest.KubectlCommand(t, c, "delete", "crd", "setshops.example.com").Run() })
	e2etest.Kubectl(t, c, "wait", "--for=jsonpath={.status.conditions[-1:].status}=True", "crd/setshops.example.com")

	const user = "shopkeeper"
	kubeconfig, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	role := e2etest.RolesToCopy(t, "../../../docs/rbac.md")["k8sconnect-sets"]
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"setshops"}, Verbs: []string{"get", "patch", "delete"}})
	bind(t, c, role, ns, user)
	const parent = "setshop.example.com/main"
	apply := setRuns(t, parent)[0]
	e2etest.Plugin(t, kubeconfig, append(apply, "-n", ns)...).Ends(t, 2).Says(t, "cannot check whether SetShop.example.com can be the parent of a set").Says(t, "customresourcedefinitions")
	e2etest.Kubectl(t, c, "create", "clusterrole", user, "--verb=get", "--resource=customresourcedefinitions", "--resource-name=setshops.example.com")
	e2etest.Kubectl(t, c, "create", "clusterrolebinding", user, "--clusterrole="+user, "--user="+user)
	t.Cleanup(func() { _ = e2etest.KubectlCommand(t, c, "delete", "clusterrole,clusterrolebinding", user).Run() })
	e2etest.Until(t, "it may read the definition", func() bool {
		return e2etest.KubectlCommand(t, c, "auth", "can-i", "get", "crd/setshops.example.com", "--as="+user).Run() == nil
	})
	e2etest.Plugin(t, kubeconfig, append(apply, "-n", ns)...).Ends(t, 2).Says(t, "setshop.example.com/main -n "+ns+" does not exist").Says(t, "create it first")
	e2etest.Kubectl(t, c, "create", "-f", e2etest.File(t, "{apiVersion: example.com/v1, kind: SetShop, metadata: {name: main, namespace: "+ns+"}, spec: {open: true}}"))
	for _, args := range setRuns(t, parent) {
		if args[0] == "sets" && len(args) == 1 { // kinds of parents are in definitions, which this account may not list
			e2etest.Plugin(t, c.KubeconfigPath, "sets", "-n", ns).Ends(t, 0).Says(t, "setshop.example.com/main")
			continue
		}
		r := e2etest.Plugin(t, kubeconfig, append(args, "-n", ns)...).Ends(t, 0)
		if message := r.Stdout.String() + r.Stderr.String(); complaint.MatchString(message) {
			t.Errorf("output contains a complaint: %s", r)
		}
		if args[0] == "apply" {
			if open := e2etest.Kubectl(t, c, "get", "setshop", "main", "-n", ns, "-o", "jsonpath={.spec.open}"); open != "true" {
				t.Errorf("the spec of the parent has changed: open is %q", open)
			}
		}
	}
	if left := e2etest.Kubectl(t, c, "get", "setshops,leases", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}

	// kubectl and the plugin can continue each other's sets.
	e2etest.Kubectl(t, c, "create", "-f", e2etest.File(t, "{apiVersion: example.com/v1, kind: SetShop, metadata: {name: main, namespace: "+ns+"}}"))
	e2etest.Plugin(t, kubeconfig, append(apply, "-n", ns)...).Ends(t, 0)
	cmd := e2etest.KubectlCommand(t, c, "apply", "--server-side", "--force-conflicts", "-n", ns, "--prune", "--applyset=setshops.example.com/main",
		"-f", e2etest.File(t, e2etest.Without(e2etest.ConfigMaps(3, 1, "1"), "cm-0000")))
	cmd.Env = append(os.Environ(), "KUBECTL_APPLYSET=true")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "configmap/cm-0000 pruned") {
		t.Fatalf("%v: %s", err, out)
	}
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Without(e2etest.Without(e2etest.ConfigMaps(3, 1, "1"), "cm-0000"), "cm-0001")), "--apply-set="+parent,
		"--prune", "--take=all").Ends(t, 0).Says(t, "pruned      configmap/cm-0001")

	e2etest.Kubectl(t, c, "label", "crd", "setshops.example.com", "applyset.kubernetes.io/is-parent-type-")
	e2etest.Plugin(t, kubeconfig, append(apply, "-n", ns)...).Ends(t, 2).Says(t, "cannot be the parent of a set").Says(t, "applyset.kubernetes.io/is-parent-type")
}

// With rights only in the set's namespaces, its members are listed in each of them. The set can be
// pruned, shown and deleted completely.
func TestSetInTwoNamespaces(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	home, other := e2etest.Namespace(t, c), e2etest.Namespace(t, c)
	const user = "setter"
	own, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	inNamespace(t, own, home)
	role := e2etest.RolesToCopy(t, "../../../docs/rbac.md")["k8sconnect-sets"]
	bind(t, c, role, home, user)
	members := role
	members.Rules = role.Rules[:1]
	bind(t, c, members, other, user)

	there := func(n int) string {
		return strings.ReplaceAll(e2etest.ConfigMaps(n, 1, "1"), "{name: cm-", "{namespace: "+other+", name: there-")
	}
	run := func(args ...string) *e2etest.Run { return e2etest.Plugin(t, own, args...) }
	run("apply", "--apply-set=shop", "--prune", "-f", e2etest.File(t, e2etest.ConfigMaps(3, 1, "1")+there(3))).Ends(t, 0).Says(t, "6 created")
	run("apply", "--apply-set=shop", "--prune", "-f", e2etest.File(t, e2etest.ConfigMaps(2, 1, "1")+there(2))).Ends(t, 0).
		Says(t, "pruned      configmap/cm-0002 -n "+home).Says(t, "pruned      configmap/there-0002 -n "+other)
	if e2etest.KubectlCommand(t, c, "auth", "can-i", "list", "configmaps", "-A", "--as="+user).Run() == nil {
		t.Error("the account may list everywhere: the test proves nothing")
	}
	run("sets", "shop").Ends(t, 0).Says(t, "there-0001")
	run("sets", "delete", "shop", "--yes").Ends(t, 0).Says(t, "deleted      configmap/there-0000 -n "+other)
	if left := e2etest.Kubectl(t, c, "get", "configmaps", "-n", other, "-l", "applyset.kubernetes.io/part-of", "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}
}

// An object that Flux or Argo CD has marked is named and refused, and nothing is written.
// --allow-join lets it join.
func TestMarksOfOtherTools(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	for name, mark := range map[string]struct{ metadata, says string }{
		"Flux Kustomization": {
			"labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}",
			"it belongs to Flux Kustomization flux-system/apps (kustomize.toolkit.fluxcd.io/name)",
		},
		"Flux HelmRelease": {
			"labels: {helm.toolkit.fluxcd.io/name: web, helm.toolkit.fluxcd.io/namespace: prod}",
			"it belongs to Flux HelmRelease prod/web (helm.toolkit.fluxcd.io/name)",
		},
		"Argo CD by annotation": {
			`annotations: {argocd.argoproj.io/tracking-id: "argocd_shop:/ConfigMap:prod/cm-0001"}`,
			"it belongs to Argo CD Application argocd/shop (argocd.argoproj.io/tracking-id)",
		},
		"Argo CD by label": {
			"labels: {argocd.argoproj.io/instance: shop}",
			"it belongs to Argo CD Application shop (argocd.argoproj.io/instance)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ns := e2etest.Namespace(t, c)
			e2etest.Kubectl(t, c, "create", "-n", ns, "-f", e2etest.File(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm-0001, "+mark.metadata+"}\n"))
			args := applySet(ns, e2etest.File(t, e2etest.ConfigMaps(2, 1, "1")))
			e2etest.Plugin(t, c.KubeconfigPath, args...).Ends(t, 1).Says(t, mark.says).Says(t, "--allow-join lets it join")
			if got := e2etest.UIDs(t, c, ns); len(got) != 1 {
				t.Errorf("something was written: %v", got)
			}
			e2etest.Plugin(t, c.KubeconfigPath, append(args, "--allow-join")...).Ends(t, 0).Says(t, "(joined secret/shop, taken from ")
		})
	}
}

// A rollback restores the values of a Secret in the parent's namespace. The history does not
// contain the values of Secrets in other namespaces, so they are not restored, and that is
// reported.
func TestRollbackOfSecrets(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	home, other := e2etest.Namespace(t, c), e2etest.Namespace(t, c)
	kubeconfig, err := c.Kubeconfig(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	inNamespace(t, kubeconfig, home)
	set := func(value string) string {
		return e2etest.File(t, "{apiVersion: v1, kind: Secret, metadata: {name: here}, stringData: {password: here-"+value+"}}\n---\n"+
			"{apiVersion: v1, kind: Secret, metadata: {name: there, namespace: "+other+"}, stringData: {password: there-"+value+"}}\n")
	}
	for _, value := range []string{"one", "two"} {
		e2etest.Plugin(t, kubeconfig, "apply", "--apply-set=shop", "--prune", "-f", set(value)).Ends(t, 0)
	}
	r := e2etest.Plugin(t, kubeconfig, "sets", "rollback", "shop", "--yes").Ends(t, 0).
		Says(t, "secret/there -n "+other+": keeps its current values")
	password := func(ns, name string) string {
		return e2etest.Kubectl(t, c, "get", "secret", name, "-n", ns, "-o", `go-template={{.data.password | base64decode}}`)
	}
	if got := password(home, "here"); got != "here-one" {
		t.Errorf("the password here is %s, want here-one: %s", got, r)
	}
	if got := password(other, "there"); got != "there-two" {
		t.Errorf("the password there is %s, want there-two: %s", got, r)
	}
	for _, secret := range []string{"here-one", "here-two", "there-one", "there-two"} {
		if strings.Contains(r.Stdout.String()+r.Stderr.String(), secret) {
			t.Errorf("output contains a password: %s", r)
		}
	}
	e2etest.Kubectl(t, c, "delete", "secret", "there", "-n", other)
	e2etest.Plugin(t, kubeconfig, "sets", "rollback", "shop", "--yes").Ends(t, 0).Says(t, "secret/there -n "+other+": no longer exists and will not be recreated")
}
