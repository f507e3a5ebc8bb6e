package e2e_test

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// A deletion is for the version that was checked: a member stays if others remove it from the set,
// protect it, or claim it after the decision and before the request. The parent still covers the
// remaining members.
func TestMemberChangedBeforeItsDeletion(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	for name, change := range map[string]struct {
		args []string
		says string
		// left: it is no longer a member.
		left bool
	}{
		"no longer a member": {[]string{"label", "applyset.kubernetes.io/part-of-"}, "it left the set during this run", true},
		"another set":        {[]string{"label", "--overwrite", "applyset.kubernetes.io/part-of=applyset-other-v1"}, "it left the set during this run", true},
		"kept":               {[]string{"annotate", "k8sconnect.io/prune=disabled"}, "its annotation k8sconnect.io/prune: disabled keeps it", false},
		"claimed":            {[]string{"label", "argocd.argoproj.io/instance=other"}, "it belongs to Argo CD Application other", false},
		"just changed":       {[]string{"annotate", "example.com/anything=else"}, "", false},
	} {
		for _, verb := range []string{"prune", "delete"} {
			t.Run(name+"/"+verb, func(t *testing.T) {
				if verb == "delete" && name != "claimed" {
					circle.Full(t)
				}
				ns := namespace(t, c)
				all := configMaps(3, 1, "1")
				k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, all))...).ends(t, 0)
				uid := uids(t, c, ns)["cm-0001"]
				before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+ns+"/configmaps/cm-0001"), func() {
					kubectl(t, c, append([]string{change.args[0], "configmap", "cm-0001", "-n", ns}, change.args[1:]...)...)
				})
				t.Cleanup(p.Heal)
				args, status := applySet(ns, file(t, without(all, "cm-0001"))), 0
				if verb == "delete" {
					args = []string{"sets", "delete", "shop", "-n", ns, "--yes"}
					if change.says != "" && !change.left {
						status = 1
					}
				}
				r := k8sconnect(t, kubeconfig, args...).ends(t, status)
				if change.says == "" {
					if there := uids(t, c, ns)["cm-0001"]; there != "" {
						t.Errorf("the changed member still exists: %s", r)
					}
					return
				}
				r.says(t, change.says)
				if there := uids(t, c, ns)["cm-0001"]; there != uid {
					t.Errorf("the UID of the member changed from %s to %q: %s", uid, there, r)
				}
				parent := strings.TrimSpace(kubectl(t, c, "get", "secret", "shop", "-n", ns, "--ignore-not-found", "-o", "name"))
				if gone := verb == "delete" && change.left; (parent == "") != gone {
					t.Errorf("the parent is %q: %s", parent, r)
				}
			})
		}
	}
}

// A pruned namespace is not deleted if a member in it has to stay.
func TestNamespaceWithAMemberThatStays(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	home, other := namespace(t, c), namespace(t, c)
	bring := "{apiVersion: v1, kind: Namespace, metadata: {name: " + other + "}}\n---\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: inside, namespace: " + other + "}}\n"
	set := configMaps(3, 1, "1")
	kubectl(t, c, "delete", "namespace", other)
	kubeconfig = inNamespace(t, kubeconfig, home)
	args := func(text string) []string {
		return []string{"apply", "-f", file(t, text), "--apply-set=shop", "--prune", "--prune-allow=Namespace"}
	}
	k8sconnect(t, kubeconfig, args(bring+set)...).ends(t, 0)
	before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+other+"/configmaps/inside"), func() {
		kubectl(t, c, "annotate", "configmap", "inside", "-n", other, "k8sconnect.io/prune=disabled")
	})
	k8sconnect(t, kubeconfig, args(set)...).ends(t, 0).
		says(t, "kept        configmap/inside").says(t, "it contains configmap/inside -n "+other+", which stays")
	if phase := kubectl(t, c, "get", "namespace", other, "-o", "jsonpath={.status.phase}"); phase != "Active" {
		t.Errorf("the namespace is %s, want Active", phase)
	}
	p.Heal()
	// The parent still lists its namespace, so it is deleted once it may be.
	kubectl(t, c, "annotate", "configmap", "inside", "-n", other, "k8sconnect.io/prune-")
	k8sconnect(t, kubeconfig, args(set)...).ends(t, 0).says(t, "pruned      configmap/inside").says(t, "pruned      namespace/"+other)
}

// A parent stays if others have extended its annotations at the last moment: they are needed to
// find those members.
func TestParentExtendedBeforeItsDeletion(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(2, 1, "1")))...).ends(t, 0)
	before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+ns+"/secrets/shop"), func() {
		kubectl(t, c, "annotate", "secret", "shop", "-n", ns, "--overwrite", "applyset.kubernetes.io/contains-group-kinds=ConfigMap,ServiceAccount")
	})
	k8sconnect(t, kubeconfig, "sets", "delete", "shop", "-n", ns, "--yes").ends(t, 1).says(t, "another run has changed the set's list of kinds and namespaces")
	p.Heal()
	k8sconnect(t, kubeconfig, "sets", "delete", "shop", "-n", ns, "--yes").ends(t, 0)
}

// inNamespace sets the namespace in the kubeconfig's context, and returns its path.
func inNamespace(t *testing.T, kubeconfig, ns string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts[config.CurrentContext].Namespace = ns
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}
