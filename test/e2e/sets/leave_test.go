package sets_test

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A deletion is for the version that was checked: a member stays if others remove it from the set,
// protect it, or claim it after the decision and before the request. The parent still covers the
// remaining members.
func TestMemberChangedBeforeItsDeletion(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
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
				ns := e2etest.Namespace(t, c)
				all := e2etest.ConfigMaps(3, 1, "1")
				e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, all))...).Ends(t, 0)
				uid := e2etest.UIDs(t, c, ns)["cm-0001"]
				e2etest.Before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+ns+"/configmaps/cm-0001"), func() {
					e2etest.Kubectl(t, c, append([]string{change.args[0], "configmap", "cm-0001", "-n", ns}, change.args[1:]...)...)
				})
				t.Cleanup(p.Heal)
				args, status := applySet(ns, e2etest.File(t, e2etest.Without(all, "cm-0001"))), 0
				if verb == "delete" {
					args = []string{"sets", "delete", "shop", "-n", ns, "--yes"}
					if change.says != "" && !change.left {
						status = 1
					}
				}
				r := e2etest.Plugin(t, kubeconfig, args...).Ends(t, status)
				if change.says == "" {
					if there := e2etest.UIDs(t, c, ns)["cm-0001"]; there != "" {
						t.Errorf("the changed member still exists: %s", r)
					}
					return
				}
				r.Says(t, change.says)
				if there := e2etest.UIDs(t, c, ns)["cm-0001"]; there != uid {
					t.Errorf("the UID of the member changed from %s to %q: %s", uid, there, r)
				}
				parent := strings.TrimSpace(e2etest.Kubectl(t, c, "get", "secret", "shop", "-n", ns, "--ignore-not-found", "-o", "name"))
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
	p, kubeconfig := e2etest.Proxied(t, c)
	home, other := e2etest.Namespace(t, c), e2etest.Namespace(t, c)
	bring := "{apiVersion: v1, kind: Namespace, metadata: {name: " + other + "}}\n---\n" +
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: inside, namespace: " + other + "}}\n"
	set := e2etest.ConfigMaps(3, 1, "1")
	e2etest.Kubectl(t, c, "delete", "namespace", other)
	kubeconfig = inNamespace(t, kubeconfig, home)
	args := func(text string) []string {
		return []string{"apply", "-f", e2etest.File(t, text), "--apply-set=shop", "--prune", "--prune-allow=Namespace"}
	}
	e2etest.Plugin(t, kubeconfig, args(bring+set)...).Ends(t, 0)
	e2etest.Before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+other+"/configmaps/inside"), func() {
		e2etest.Kubectl(t, c, "annotate", "configmap", "inside", "-n", other, "k8sconnect.io/prune=disabled")
	})
	e2etest.Plugin(t, kubeconfig, args(set)...).Ends(t, 0).
		Says(t, "kept        configmap/inside").Says(t, "it contains configmap/inside -n "+other+", which stays")
	if phase := e2etest.Kubectl(t, c, "get", "namespace", other, "-o", "jsonpath={.status.phase}"); phase != "Active" {
		t.Errorf("the namespace is %s, want Active", phase)
	}
	p.Heal()
	// The parent still lists its namespace, so it is deleted once it may be.
	e2etest.Kubectl(t, c, "annotate", "configmap", "inside", "-n", other, "k8sconnect.io/prune-")
	e2etest.Plugin(t, kubeconfig, args(set)...).Ends(t, 0).Says(t, "pruned      configmap/inside").Says(t, "pruned      namespace/"+other)
}

// A parent stays if others have extended its annotations at the last moment: they are needed to
// find those members.
func TestParentExtendedBeforeItsDeletion(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(2, 1, "1")))...).Ends(t, 0)
	e2etest.Before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+ns+"/secrets/shop"), func() {
		e2etest.Kubectl(t, c, "annotate", "secret", "shop", "-n", ns, "--overwrite", "applyset.kubernetes.io/contains-group-kinds=ConfigMap,ServiceAccount")
	})
	e2etest.Plugin(t, kubeconfig, "sets", "delete", "shop", "-n", ns, "--yes").Ends(t, 1).Says(t, "another run has changed the set's list of kinds and namespaces")
	p.Heal()
	e2etest.Plugin(t, kubeconfig, "sets", "delete", "shop", "-n", ns, "--yes").Ends(t, 0)
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
