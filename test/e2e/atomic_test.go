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
)

// release returns a set of two ConfigMaps and a Deployment. The second ConfigMap exists from
// version 2; the Pods of version 2 fit no node.
func release(version string) string {
	set := `
{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {value: "VERSION", kept: "1"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      NODES
      containers: [{name: app, image: "registry.example/app:VERSION"}]
`
	nodes := ""
	if version != "1" {
		set += "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: more}, data: {added: 'VERSION'}}\n"
		nodes = "nodeSelector: {kubernetes.io/hostname: none}"
	}
	return strings.NewReplacer("VERSION", version, "NODES", nodes).Replace(set)
}

// failing returns the set of a release whose Deployment fails as soon as its controller has seen
// it. So the run ends without a --timeout, which may expire before a busy machine has written all.
func failing(version string) string {
	return strings.ReplaceAll(release(version), "spec:\n  replicas: 1\n", "spec:\n  progressDeadlineSeconds: 1\n  replicas: 1\n")
}

// state has the values, image and owners of the objects in a set.
func state(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	owners := func(object string) []string {
		return slices.Sorted(slices.Values(strings.Fields(managers(t, c, ns, object))))
	}
	return kubectl(t, c, "get", "configmap/app", "-n", ns, "-o", "jsonpath={.data}") +
		kubectl(t, c, "get", "deployment/app", "-n", ns, "-o", "jsonpath={.spec.template.spec.containers[0].image}{.spec.template.spec.nodeSelector}") +
		fmt.Sprint(owners("configmap/app"), owners("deployment/app"))
}

// With apply --wait --atomic, if an object does not become ready, all objects get their former
// values and owners back, and created objects are deleted.
func TestAtomicFailedWait(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := namespace(t, c)
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, release("1")), "--wait").ends(t, 0)
	before := state(t, c, ns)
	r := k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, failing("2")), "--wait", "--atomic").ends(t, 1).
		says(t, "failed      deployment.apps/app").
		says(t, "rolling back: 3 objects, within 10m").
		says(t, "restored    deployment.apps/app").
		says(t, "restored    configmap/app").
		says(t, "deleted     configmap/more").
		says(t, "rolled back: 2 restored, 1 deleted")
	if after := state(t, c, ns); after != before {
		t.Errorf("state after the rollback:\n%s\nwant the state before the run:\n%s\n%s", after, before, r)
	}
	if out := kubectl(t, c, "get", "configmap", "more", "-n", ns, "--ignore-not-found"); out != "" {
		t.Errorf("the object that the run created still exists: %s", out)
	}
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, release("1"))).ends(t, 0).says(t, "2 unchanged")
}

// A conflict in a later phase rolls back the writes of earlier phases.
func TestAtomicConflict(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, release("1"))).ends(t, 0)
	kubectl(t, c, "set", "image", "deployment/app", "-n", ns, "app=registry.example/app:hotfix", "--field-manager=alice")
	out := k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, release("2")), "--atomic", "-o", "json").ends(t, 1)
	for _, o := range out.report(t).Objects {
		if want := map[string]string{"app ConfigMap": "restored", "more ConfigMap": "deleted"}[o.Name+" "+o.Kind]; o.Rollback.Action != want {
			t.Errorf("%s %s: %q, want %q", o.Kind, o.Name, o.Rollback.Action, want)
		}
	}
	if got := value(t, c, ns, "app"); got != "1" {
		t.Errorf("the value is %s, want 1", got)
	}
}

// The rollback skips and reports fields that others have changed since the run wrote them.
func TestAtomicKeepsChangesOfOthers(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, release("1"))).ends(t, 0)
	r := start(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, strings.ReplaceAll(release("2"), `kept: "1"`, `kept: "2"`)), "--wait", "--atomic")
	r.until(t, "the Deployment is written", func() bool {
		return strings.Contains(kubectl(t, c, "get", "deployment/app", "-n", ns, "-o", "jsonpath={.spec}"), "app:2")
	})
	kubectl(t, c, "patch", "configmap/app", "-n", ns, "--field-manager=alice", "-p", `{"data":{"kept":"alice","hers":"1"}}`)
	r.signal(t, syscall.SIGINT) // an interrupt also rolls back
	r.wait(t)
	r.ends(t, 2).says(t, "restored    configmap/app").says(t, "left     .data.kept  others have changed it since").says(t, "error: interrupted")
	if got := kubectl(t, c, "get", "configmap/app", "-n", ns, "-o", "jsonpath={.data}"); got != `{"hers":"1","kept":"alice","value":"1"}` {
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
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, release("1"))).ends(t, 0)
	var writes atomic.Int32
	p.Fail(-1, func(r *http.Request) bool {
		return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/namespaces/"+ns+"/configmaps/app") &&
			isWrite(r.Method, r.URL.RawQuery) && writes.Add(1) > 1
	}, proxy.Fault{Status: http.StatusForbidden, Message: "admission webhook \"guard.example.com\" denied the request: frozen"})
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, failing("2")), "--wait", "--atomic").ends(t, 1).
		says(t, "failed      configmap/app -n "+ns+": it is still as this run left it").
		says(t, "frozen").
		says(t, "restored    deployment.apps/app").
		says(t, "rolled back: 1 restored, 1 deleted, 1 failed")
	if got := value(t, c, ns, "app"); got != "2" {
		t.Errorf("the value is %s, want 2, because the object was reported as not restored", got)
	}
	if got := kubectl(t, c, "get", "deployment/app", "-n", ns, "-o", "jsonpath={.spec.template.spec.containers[0].image}"); got != "registry.example/app:1" {
		t.Errorf("the image is %s, want the former one", got)
	}
}

// A partly restored object is reported with its actual state, and not with the run's result. A
// recreated object is gone if its former version is refused. An object may have its former values
// but not its former owners.
func TestAtomicPartialRollback(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	sealed := func(value string) string {
		return "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: sealed}, immutable: true, data: {value: '" + value + "'}}\n"
	}
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, release("1")+sealed("1"))).ends(t, 0)
	kubectl(t, c, "patch", "configmap/app", "-n", ns, "--field-manager=alice", "-p", `{"data":{"value":"alice"}}`)
	var deletions atomic.Int32
	p.Fail(-1, func(r *http.Request) bool {
		sealed := strings.HasSuffix(r.URL.Path, "/namespaces/"+ns+"/configmaps/sealed")
		if sealed && r.Method == http.MethodDelete {
			deletions.Add(1)
		}
		owners := strings.HasSuffix(r.URL.Path, "/namespaces/"+ns+"/configmaps/app") && !strings.Contains(r.Header.Get("Content-Type"), "apply")
		return r.Method == http.MethodPatch && isWrite(r.Method, r.URL.RawQuery) && (sealed && deletions.Load() > 1 || owners)
	}, proxy.Fault{Status: http.StatusForbidden, Message: "admission webhook \"guard.example.com\" denied the request: frozen"})
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, failing("2")+sealed("2")),
		"--take=all", "--recreate=ConfigMap", "--wait", "--atomic").ends(t, 1).
		says(t, "failed      configmap/sealed -n "+ns+": it does not exist now").
		says(t, "failed      configmap/app -n "+ns+": its values are as they were before this run").
		says(t, "rolled back: 1 restored, 1 deleted, 2 failed")
	if got := kubectl(t, c, "get", "configmap/sealed", "-n", ns, "--ignore-not-found", "-o", "name"); got != "" {
		t.Errorf("%s exists, but was reported as missing", got)
	}
	if got := value(t, c, ns, "app"); got != "alice" {
		t.Errorf("the value is %s, want alice, because the values were reported as restored", got)
	}
}

// Fields that the run took or adopted go back to their owners, with their values, whatever the run
// has done when its time is up.
func TestAtomicReturnsFieldsToOwners(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := namespace(t, c)
	kubectl(t, c, "apply", "-n", ns, "-f", file(t, strings.ReplaceAll(release("1"), `kept: "1"`, `kept: "1", old: "1"`)))
	kubectl(t, c, "patch", "configmap/app", "-n", ns, "--field-manager=alice", "-p", `{"data":{"value":"alice"}}`)
	before := state(t, c, ns)
	r := k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, release("2")), "--take=all", "--wait", "--atomic", "--timeout=5s").ends(t, 1)
	if after := state(t, c, ns); after != before {
		t.Errorf("state after the rollback:\n%s\nwant the state before the run:\n%s\n%s", after, before, r)
	}
}
