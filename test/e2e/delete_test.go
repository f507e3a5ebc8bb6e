package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A thousand objects cost one list, one watch, and one deletion each.
func TestDeleteRequests(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	many := circle.Of(600, 1000, 1000) // a list has pages of 500
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(many, 1, "1"))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).Ends(t, 0)
	path := "/api/v1/namespaces/" + ns + "/configmaps"
	e2etest.Plugin(t, kubeconfig, "delete", "-n", ns, "-f", set).Ends(t, 0).Says(t, fmt.Sprint(many, " deleted"))
	if n := p.Count("DELETE", path); n != many {
		t.Errorf("%d requests to delete, want %d", n, many)
	}
	if n := p.Count("GET", path); n > 10 { // a watch may end early and restart
		t.Errorf("%d GET requests, want at most 10: a list of two pages, and watches", n)
	}
	if n := len(e2etest.UIDs(t, c, ns)); n != 0 {
		t.Errorf("%d objects are left, want 0", n)
	}
}

// Edge case 68: an object that was deleted and recreated meanwhile is another object, and is not
// deleted.
func TestDeleteReplaced(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(1, 1, "1"))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).Ends(t, 0)
	e2etest.Before(p, proxy.Path("DELETE", "/api/v1/namespaces/"+ns), func() {
		e2etest.Kubectl(t, c, "delete", "configmap/cm-0000", "-n", ns)
		e2etest.Kubectl(t, c, "create", "configmap", "cm-0000", "-n", ns, "--from-literal=value=new")
	})
	e2etest.Plugin(t, kubeconfig, "delete", "-n", ns, "-f", set).Ends(t, 0).
		Says(t, "1 deleted").Says(t, "another object has its name now, and was left alone")
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "new" {
		t.Errorf("the value of the new object is %q, want new", got)
	}
}

// Edge case 68 during the wait: the wait is for the requested object, not for another one with its
// name.
func TestDeleteReplacedWhileWaiting(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Held("one", "example.com/hold")+e2etest.Held("two", "example.com/hold")))
	r := e2etest.Start(t, c.KubeconfigPath, "delete", "-n", ns, "configmap", "one", "two")
	r.Until(t, "both are terminating", func() bool {
		return strings.Count(e2etest.Kubectl(t, c, "get", "configmap", "-n", ns, "-o", "jsonpath={.items[*].metadata.deletionTimestamp}"), "Z") == 2
	})
	letGo(t, c, ns, "one")
	e2etest.Kubectl(t, c, "create", "configmap", "one", "-n", ns, "--from-literal=value=new")
	letGo(t, c, ns, "two")
	r.Wait(t)
	r.Ends(t, 0).Says(t, "2 deleted")
	if got := e2etest.ValueOf(t, c, ns, "one"); got != "new" {
		t.Errorf("the value of the new object is %q, want new", got)
	}
}

// Edge case 57: if a server returns only errors for longer than --server-timeout, that is reported
// at once, and no object is reported as deleted meanwhile. The run continues when the server
// recovers.
func TestDeleteThroughErrors(t *testing.T) {
	c := shared.Cluster(t)
	for name, fault := range map[string]proxy.Fault{
		"returns errors": {Status: http.StatusServiceUnavailable},
		"never answers":  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := e2etest.Proxied(t, c)
			wire, err := proxy.NewTCP(p.URL())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(wire.Close)
			kubeconfig, err := c.Kubeconfig(wire.URL())
			if err != nil {
				t.Fatal(err)
			}
			ns := e2etest.Namespace(t, c)
			e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Held("one", "example.com/hold")))
			r := e2etest.Start(t, kubeconfig, "delete", "-n", ns, "configmap/one", "--server-timeout=3s", "-o", "json")
			r.Until(t, "it is terminating", func() bool {
				return e2etest.Kubectl(t, c, "get", "configmap/one", "-n", ns, "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
			})
			p.Fail(-1, func(*http.Request) bool { return true }, fault)
			wire.Break() // including the watch
			time.Sleep(8 * time.Second)
			letGo(t, c, ns, "one")
			time.Sleep(time.Second)
			if r.Stdout.Len() != 0 {
				t.Errorf("output while the server returns only errors: %s", &r.Stdout)
			}
			p.Heal()
			r.Wait(t)
			r.Ends(t, 0).Says(t, `"deleted": 1`).Says(t, "trying again for up to")
		})
	}
}

// Edge case 58: a namespace whose objects are still being deleted is slow, not stuck, and reported
// with numbers.
func TestDeleteSlowNamespace(t *testing.T) {
	circle.Full(t)
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(2000, 1, "1"))).Ends(t, 0)
	r := e2etest.Plugin(t, c.KubeconfigPath, "delete", "namespace", ns, "--explain-stuck", "-o", "stream").Ends(t, 0)
	r.Says(t, `"type":"going"`).Says(t, `"total":200`).Says(t, `"action":"deleted"`)
	if strings.Contains(r.Stdout.String(), `"type":"stuck"`) {
		t.Errorf("the namespace was reported as stuck: %s", r)
	}
}

// An operator's objects are deleted while it still runs and can clean up, and its definition last
// (edge case 64).
func TestDeleteOperatorSet(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	group := ns + ".example.com"
	set := e2etest.File(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec: {containers: [{name: app, image: "operator:1"}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: %[1]s/v1
kind: Gadget
metadata: {name: one, finalizers: [example.com/clean-up]}
`, group))
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0)
	r := e2etest.Start(t, kubeconfig, "delete", "-n", ns, "-f", set)
	r.Until(t, "the custom object is terminating", func() bool {
		return e2etest.Kubectl(t, c, "get", "gadget."+group+"/one", "-n", ns, "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
	})
	time.Sleep(time.Second)
	if n := p.Count("DELETE", "/apis/apps/"); n != 0 {
		t.Error("the operator was deleted before its object")
	}
	e2etest.Kubectl(t, c, "patch", "gadget."+group+"/one", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	r.Wait(t)
	r.Ends(t, 0).Says(t, "3 deleted")

	// As before the test, neither the definition nor its instances exist.
	e2etest.Plugin(t, kubeconfig, "delete", "-n", ns, "-f", set, "--ignore-not-found").Ends(t, 0).Says(t, "3 absent")
}

// After a kill in the middle, the next run deletes the rest.
func TestDeleteKilled(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	const n = 60
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(n, 1, "1"))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).Ends(t, 0)
	var sent atomic.Int64
	p.Fail(-1, func(r *http.Request) bool { return r.Method == http.MethodDelete && sent.Add(1) > n/2 },
		proxy.Fault{Status: http.StatusServiceUnavailable, Delay: time.Minute})
	killed := e2etest.Start(t, kubeconfig, "delete", "-n", ns, "-f", set)
	killed.Until(t, "half of them are deleted", func() bool { return len(e2etest.UIDs(t, c, ns)) == n/2 })
	_ = killed.Cmd.Process.Kill()
	<-killed.Over
	p.Heal()
	const left = n / 2
	again := e2etest.Plugin(t, c.KubeconfigPath, "delete", "-n", ns, "-f", set, "--ignore-not-found", "-o", "json").Ends(t, 0).Report(t)
	if got := again.Summary; got["deleted"] > left || got["deleted"]+got["absent"] != n {
		t.Errorf("%d objects were left; the next run reports %v", left, got)
	}
	if n := len(e2etest.UIDs(t, c, ns)); n != 0 {
		t.Errorf("%d objects are left, want 0", n)
	}
}

// Ctrl-C reports which objects are still terminating, and which were not deleted.
func TestDeleteInterrupted(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	set := e2etest.File(t, e2etest.Held("one", "example.com/hold")+fmt.Sprintf("---\n{apiVersion: v1, kind: Namespace, metadata: {name: %s-x}}\n", ns))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", set).Ends(t, 0)
	r := e2etest.Start(t, c.KubeconfigPath, "delete", "-f", set)
	r.Until(t, "it is terminating", func() bool {
		return e2etest.Kubectl(t, c, "get", "configmap/one", "-n", "default", "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
	})
	r.Signal(t, syscall.SIGINT)
	r.Wait(t)
	r.Ends(t, 2).Says(t, "terminating  configmap/one -n default").Says(t, "gave up waiting").
		Says(t, "skipped      namespace/"+ns+"-x").Says(t, "1 terminating, 1 skipped")
	letGo(t, c, "default", "one")
	e2etest.Plugin(t, c.KubeconfigPath, "delete", "-f", set, "--ignore-not-found").Ends(t, 0)
}

// For a user who may get and delete, but neither list nor watch, the plugin works object by object.
func TestDeleteWithoutListPermission(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(20, 1, "1"))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).Ends(t, 0)
	e2etest.Kubectl(t, c, "create", "role", "deleter", "-n", ns, "--verb=get,delete", "--resource=configmaps")
	e2etest.Kubectl(t, c, "create", "rolebinding", "deleter", "-n", ns, "--role=deleter", "--user=dora")
	kubeconfig, err := c.KubeconfigFor("dora")
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Plugin(t, kubeconfig, "delete", "-n", ns, "-f", set).Ends(t, 0).Says(t, "20 deleted")
	e2etest.Plugin(t, kubeconfig, "delete", "-n", ns, "configmap", "--all").Ends(t, 2).Says(t, "unknown")
}

// The removal of a finalizer is conditional on the version that was read. If the object changes
// meanwhile, it is read again (edge case 69).
func TestRemoveFinalizerOfAChangingObject(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Held("one", "example.com/a", "example.com/b")))
	e2etest.Kubectl(t, c, "delete", "configmap/one", "-n", ns, "--wait=false")
	patches := func(r *http.Request) bool {
		return r.Method == http.MethodPatch && e2etest.IsWrite(r.Method, r.URL.RawQuery)
	}
	e2etest.Before(p, patches, func() {
		e2etest.Kubectl(t, c, "annotate", "configmap/one", "-n", ns, "touched=yes")
	})
	e2etest.Plugin(t, kubeconfig, "delete", "-n", ns, "configmap/one", "--remove-finalizer=example.com/a", "--yes", "--wait=false").Ends(t, 0)
	if n := e2etest.Written(p); n != 2 {
		t.Errorf("%d patches, want 2: the first is for an outdated version", n)
	}
	if got := e2etest.Kubectl(t, c, "get", "configmap/one", "-n", ns, "-o", "jsonpath={.metadata.finalizers[*]}"); got != "example.com/b" {
		t.Errorf("finalizers are %s, want example.com/b", got)
	}

	// A recreated object with the same name is not terminating, and keeps its finalizer.
	other := e2etest.File(t, e2etest.Held("one", "example.com/b"))
	var once sync.Once
	p.Fail(-1, func(r *http.Request) bool {
		if patches(r) {
			once.Do(func() {
				letGo(t, c, ns, "one")
				e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", other)
			})
		}
		return false
	}, proxy.Fault{})
	e2etest.Plugin(t, kubeconfig, "delete", "-n", ns, "configmap/one", "--remove-finalizer=example.com/b", "--yes").Ends(t, 0).
		Says(t, "another object has its name now")
	if got := e2etest.Kubectl(t, c, "get", "configmap/one", "-n", ns, "-o", "jsonpath={.metadata.finalizers[*]}"); got != "example.com/b" {
		t.Errorf("finalizers of the new object are %s, want example.com/b", got)
	}
	letGo(t, c, ns, "one")
}

func letGo(t *testing.T, c *cluster.Cluster, ns, name string) {
	t.Helper()
	e2etest.Kubectl(t, c, "patch", "configmap/"+name, "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}
