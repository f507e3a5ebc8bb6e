package e2e_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// If another client creates an object between the check and the write, the run did not create the
// object. A rollback neither deletes the object nor leaves our values in it.
func TestAtomicObjectCreatedConcurrently(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Release("1"))).Ends(t, 0)
	e2etest.Before(p, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/more"), func() {
		e2etest.Kubectl(t, c, "create", "configmap", "more", "-n", ns, "--from-literal=hers=1", "--field-manager=alice")
	})
	r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, failing("2")), "--wait", "--atomic").Ends(t, 1).
		Says(t, "configured  configmap/more").
		Says(t, "restored    configmap/more")
	if got := e2etest.Kubectl(t, c, "get", "configmap", "more", "-n", ns, "--ignore-not-found", "-o", "jsonpath={.data}"); got != `{"hers":"1"}` {
		t.Errorf("the data of alice's object are %q, want only hers: %s", got, r)
	}
}

// If another client creates an object and deletes it before the run can read it, the run creates
// the object. The same check applies to an object that appears before that create.
func TestObjectCreatedAndDeletedConcurrently(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	for name, appears := range map[string]bool{"and stays away": false, "and comes again": true} {
		t.Run(name, func(t *testing.T) {
			ns := e2etest.Namespace(t, c)
			t.Cleanup(p.Heal)
			creates := e2etest.Writes("/api/v1/namespaces/" + ns + "/configmaps/cm-0000")
			p.Fail(1, creates, proxy.Fault{Status: http.StatusConflict})
			if appears {
				e2etest.Before(p, creates, func() {
					e2etest.Kubectl(t, c, "create", "configmap", "cm-0000", "-n", ns, "--from-literal=hers=1", "--field-manager=alice")
				})
			}
			says := "1 created"
			if appears {
				says = "configured  configmap/cm-0000 -n " + ns + "  (joined secret/shop)"
			}
			e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "ours")), "--apply-set=shop").Ends(t, 0).Says(t, says)
		})
	}
}

// An object that appears between the check and the write is also checked: fields of other owners
// are conflicts, and an object of another tool does not join a set.
func TestObjectCreatedConcurrently(t *testing.T) {
	for name, test := range map[string]struct {
		create []string
		says   string
	}{
		"with another value": {
			create: []string{"create", "configmap", "cm-0000", "--from-literal=value=hers", "--field-manager=alice"},
			says:   "conflict  configmap/cm-0000",
		},
		"of a Helm release": {
			create: []string{"create", "configmap", "cm-0000", "--from-literal=hers=1", "--field-manager=helm"},
			says:   "it belongs to Helm release",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := shared.Cluster(t)
			p, kubeconfig := e2etest.Proxied(t, c)
			ns := e2etest.Namespace(t, c)
			e2etest.Before(p, e2etest.Writes("/api/v1/namespaces/"+ns+"/configmaps/cm-0000"), func() {
				e2etest.Kubectl(t, c, append(test.create, "-n", ns)...)
				if strings.Contains(name, "Helm") {
					e2etest.Kubectl(t, c, "annotate", "configmap", "cm-0000", "-n", ns, "meta.helm.sh/release-name=shop", "--field-manager=helm")
				}
			})
			r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(1, 1, "ours")), "--apply-set=shop").Ends(t, 1).Says(t, test.says)
			if got := e2etest.Kubectl(t, c, "get", "configmap", "cm-0000", "-n", ns, "-o", "jsonpath={.data}"); !strings.Contains(got, "hers") || strings.Contains(got, "ours") {
				t.Errorf("the data are %s, want only those of the other client: %s", got, r)
			}
		})
	}
}

// A rollback keeps a namespace or definition that the run created if others have since added
// objects to it, because its deletion would delete them. The report names it. The cluster's own
// objects in a namespace do not count.
func TestAtomicKeepsNamespaceAndDefinitionInUse(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c) + "-new"
	group := ns + ".example.com"
	set := strings.NewReplacer("NAMESPACE", ns, "GROUP", group).Replace(`
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-empty}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: ours, namespace: NAMESPACE}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: ours, namespace: NAMESPACE-empty}, data: {v: "1"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {kubernetes.io/hostname: none}
      containers: [{name: app, image: "registry.example/app:1"}]
`)
	t.Cleanup(func() {
		_ = e2etest.KubectlCommand(t, c, "delete", "namespace", ns, ns+"-empty", "--ignore-not-found", "--wait=false").Run()
	})
	r := e2etest.Start(t, c.KubeconfigPath, "apply", "-f", e2etest.File(t, set), "--wait", "--atomic")
	r.Until(t, "the Deployment is written", func() bool {
		return strings.TrimSpace(e2etest.Kubectl(t, c, "get", "deployment", "-n", ns, "--ignore-not-found", "-o", "name")) != ""
	})
	e2etest.Kubectl(t, c, "create", "configmap", "theirs", "-n", ns)
	e2etest.Kubectl(t, c, "patch", "configmap", "ours", "-n", ns+"-empty", "--field-manager=human", "-p", `{"data":{"mine":"precious"}}`)
	e2etest.Kubectl(t, c, "annotate", "configmap", "ours", "-n", ns, "looked=at")
	e2etest.Kubectl(t, c, "apply", "-f", e2etest.File(t, strings.NewReplacer("NAMESPACE", "default", "GROUP", group).Replace(
		`{apiVersion: GROUP/v1, kind: Widget, metadata: {name: theirs, namespace: NAMESPACE}}`)))
	r.Signal(t, syscall.SIGINT)
	r.Wait(t)
	r.Ends(t, 1).
		Says(t, "kept        namespace/"+ns+": it contains configmap/theirs -n "+ns+", which would be deleted with it").
		Says(t, "kept        customresourcedefinition.apiextensions.k8s.io/widgets."+group+": it contains widget."+group+"/theirs -n default, which would be deleted with it").
		Says(t, "kept        configmap/ours -n "+ns+"-empty: human has written to it since: .data.mine").
		Says(t, "kept        namespace/"+ns+"-empty: it contains configmap/ours -n "+ns+"-empty, which would be deleted with it").
		Says(t, "deleted     configmap/ours -n "+ns).
		Says(t, "error: interrupted: interrupt signal received")
	for _, left := range []string{"configmap/theirs -n " + ns, "widgets." + group + "/theirs -n default"} {
		object, in, _ := strings.Cut(left, " -n ")
		if got := e2etest.Kubectl(t, c, "get", object, "-n", in, "--ignore-not-found", "-o", "name"); got == "" {
			t.Errorf("%s is gone: %s", left, r)
		}
	}
}
