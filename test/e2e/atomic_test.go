package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// failing returns the set of a release whose Deployment fails as soon as its controller has seen
// it. So the run ends without a --timeout, which may expire before a busy machine has written all.
func failing(version string) string {
	return strings.ReplaceAll(e2etest.Release(version), "spec:\n  replicas: 1\n", "spec:\n  progressDeadlineSeconds: 1\n  replicas: 1\n")
}

// state has the values, image and owners of the objects in a set.
func state(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	owners := func(object string) []string {
		return slices.Sorted(slices.Values(strings.Fields(managers(t, c, ns, object))))
	}
	return e2etest.Kubectl(t, c, "get", "configmap/app", "-n", ns, "-o", "jsonpath={.data}") +
		e2etest.Kubectl(t, c, "get", "deployment/app", "-n", ns, "-o", "jsonpath={.spec.template.spec.containers[0].image}{.spec.template.spec.nodeSelector}") +
		fmt.Sprint(owners("configmap/app"), owners("deployment/app"))
}

// With apply --wait --atomic, if an object does not become ready, all objects get their former
// values and owners back, and created objects are deleted.
func TestAtomicFailedWait(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Release("1")), "--wait").Ends(t, 0)
	before := state(t, c, ns)
	r := e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, failing("2")), "--wait", "--atomic").Ends(t, 1).
		Says(t, "failed      deployment.apps/app").
		Says(t, "rolling back: 3 objects, within 10m").
		Says(t, "restored    deployment.apps/app").
		Says(t, "restored    configmap/app").
		Says(t, "deleted     configmap/more").
		Says(t, "rolled back: 2 restored, 1 deleted")
	if after := state(t, c, ns); after != before {
		t.Errorf("state after the rollback:\n%s\nwant the state before the run:\n%s\n%s", after, before, r)
	}
	if out := e2etest.Kubectl(t, c, "get", "configmap", "more", "-n", ns, "--ignore-not-found"); out != "" {
		t.Errorf("the object that the run created still exists: %s", out)
	}
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Release("1"))).Ends(t, 0).Says(t, "2 unchanged")
}

// A conflict in a later phase rolls back the writes of earlier phases.
func TestAtomicConflict(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Release("1"))).Ends(t, 0)
	e2etest.Kubectl(t, c, "set", "image", "deployment/app", "-n", ns, "app=registry.example/app:hotfix", "--field-manager=alice")
	out := e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Release("2")), "--atomic", "-o", "json").Ends(t, 1)
	for _, o := range out.Report(t).Objects {
		if want := map[string]string{"app ConfigMap": "restored", "more ConfigMap": "deleted"}[o.Name+" "+o.Kind]; o.Rollback.Action != want {
			t.Errorf("%s %s: %q, want %q", o.Kind, o.Name, o.Rollback.Action, want)
		}
	}
	if got := e2etest.ValueOf(t, c, ns, "app"); got != "1" {
		t.Errorf("the value is %s, want 1", got)
	}
}

// The rollback skips and reports fields that others have changed since the run wrote them.
func TestAtomicKeepsChangesOfOthers(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Release("1"))).Ends(t, 0)
	r := e2etest.Start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, strings.ReplaceAll(e2etest.Release("2"), `kept: "1"`, `kept: "2"`)), "--wait", "--atomic")
	r.Until(t, "the Deployment is written", func() bool {
		return strings.Contains(e2etest.Kubectl(t, c, "get", "deployment/app", "-n", ns, "-o", "jsonpath={.spec}"), "app:2")
	})
	e2etest.Kubectl(t, c, "patch", "configmap/app", "-n", ns, "--field-manager=alice", "-p", `{"data":{"kept":"alice","hers":"1"}}`)
	r.Signal(t, syscall.SIGINT) // an interrupt also rolls back
	r.Wait(t)
	r.Ends(t, 2).Says(t, "restored    configmap/app").Says(t, "left     .data.kept  others have changed it since").Says(t, "error: interrupted")
	if got := e2etest.Kubectl(t, c, "get", "configmap/app", "-n", ns, "-o", "jsonpath={.data}"); got != `{"hers":"1","kept":"alice","value":"1"}` {
		t.Errorf("the data are %s, want alice's changes kept and the rest restored", got)
	}
	if owners := managers(t, c, ns, "configmap/app"); !strings.Contains(owners, "alice") {
		t.Errorf("the owners are %s, want alice among them", owners)
	}
}

// If the rollback fails as well, the report shows the state of each object, and the exit status is
// 1.
func TestAtomicRollbackFails(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Release("1"))).Ends(t, 0)
	var writes atomic.Int32
	p.Fail(-1, func(r *http.Request) bool {
		return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/namespaces/"+ns+"/configmaps/app") &&
			e2etest.IsWrite(r.Method, r.URL.RawQuery) && writes.Add(1) > 1
	}, proxy.Fault{Status: http.StatusForbidden, Message: "admission webhook \"guard.example.com\" denied the request: frozen"})
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, failing("2")), "--wait", "--atomic").Ends(t, 1).
		Says(t, "failed      configmap/app -n "+ns+": it is still as this run left it").
		Says(t, "frozen").
		Says(t, "restored    deployment.apps/app").
		Says(t, "rolled back: 1 restored, 1 deleted, 1 failed")
	if got := e2etest.ValueOf(t, c, ns, "app"); got != "2" {
		t.Errorf("the value is %s, want 2, because the object was reported as not restored", got)
	}
	if got := e2etest.Kubectl(t, c, "get", "deployment/app", "-n", ns, "-o", "jsonpath={.spec.template.spec.containers[0].image}"); got != "registry.example/app:1" {
		t.Errorf("the image is %s, want the former one", got)
	}
}

// A partly restored object is reported with its actual state, and not with the run's result. A
// recreated object is gone if its former version is refused. An object may have its former values
// but not its former owners.
func TestAtomicPartialRollback(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	sealed := func(value string) string {
		return "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: sealed}, immutable: true, data: {value: '" + value + "'}}\n"
	}
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Release("1")+sealed("1"))).Ends(t, 0)
	e2etest.Kubectl(t, c, "patch", "configmap/app", "-n", ns, "--field-manager=alice", "-p", `{"data":{"value":"alice"}}`)
	var deletions atomic.Int32
	p.Fail(-1, func(r *http.Request) bool {
		sealed := strings.HasSuffix(r.URL.Path, "/namespaces/"+ns+"/configmaps/sealed")
		if sealed && r.Method == http.MethodDelete {
			deletions.Add(1)
		}
		owners := strings.HasSuffix(r.URL.Path, "/namespaces/"+ns+"/configmaps/app") && !strings.Contains(r.Header.Get("Content-Type"), "apply")
		return r.Method == http.MethodPatch && e2etest.IsWrite(r.Method, r.URL.RawQuery) && (sealed && deletions.Load() > 1 || owners)
	}, proxy.Fault{Status: http.StatusForbidden, Message: "admission webhook \"guard.example.com\" denied the request: frozen"})
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, failing("2")+sealed("2")),
		"--take=all", "--recreate=ConfigMap", "--wait", "--atomic").Ends(t, 1).
		Says(t, "failed      configmap/sealed -n "+ns+": it does not exist now").
		Says(t, "failed      configmap/app -n "+ns+": its values are as they were before this run").
		Says(t, "rolled back: 1 restored, 1 deleted, 2 failed")
	if got := e2etest.Kubectl(t, c, "get", "configmap/sealed", "-n", ns, "--ignore-not-found", "-o", "name"); got != "" {
		t.Errorf("%s exists, but was reported as missing", got)
	}
	if got := e2etest.ValueOf(t, c, ns, "app"); got != "alice" {
		t.Errorf("the value is %s, want alice, because the values were reported as restored", got)
	}
}

// Fields that the run took or adopted go back to their owners, with their values, whatever the run
// has done when its time is up.
func TestAtomicReturnsFieldsToOwners(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "apply", "-n", ns, "-f", e2etest.File(t, strings.ReplaceAll(e2etest.Release("1"), `kept: "1"`, `kept: "1", old: "1"`)))
	e2etest.Kubectl(t, c, "patch", "configmap/app", "-n", ns, "--field-manager=alice", "-p", `{"data":{"value":"alice"}}`)
	before := state(t, c, ns)
	r := e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.Release("2")), "--take=all", "--wait", "--atomic", "--timeout=5s").Ends(t, 1)
	if after := state(t, c, ns); after != before {
		t.Errorf("state after the rollback:\n%s\nwant the state before the run:\n%s\n%s", after, before, r)
	}
}
