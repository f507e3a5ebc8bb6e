package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// waited is the output of wait -o json.
type waited struct {
	Objects []struct {
		Kind, Name, Result, Reason string
		Error                      struct{ Message string }
		Conditions                 []struct {
			For     string
			Met     bool
			Message string
			Values  map[string]any
			Absent  []string
		}
		Causes []struct{ Code, Message string }
	}
	Summary map[string]int
}

func waitedOf(t *testing.T, r *e2etest.Run) waited {
	t.Helper()
	var out waited
	if err := json.Unmarshal(r.Stdout.Bytes(), &out); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	return out
}

// waitedKind defines a kind in its own group, for tests that remove the kind, or that have to be
// the only writer of a status.
func waitedKind(group string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status:
            type: object
            properties:
              observedGeneration: {type: integer}
              phase: {type: string}
              conditions:
                type: array
                items:
                  type: object
                  properties: {type: {type: string}, status: {type: string}, reason: {type: string}, message: {type: string}}
`, group)
}

// waitedObject creates a widget of the group, and returns its name for the command line.
func waitedObject(t *testing.T, c *cluster.Cluster, group, ns, name string) string {
	t.Helper()
	e2etest.Kubectl(t, c, "apply", "-f", e2etest.File(t, fmt.Sprintf(
		"apiVersion: %s/v1\nkind: Widget\nmetadata: {name: %s, namespace: %s}\nspec: {size: 1}\n", group, name, ns)))
	return "widgets." + group + "/" + name
}

// newWidgets defines a kind for one test, and waits until it is served.
func newWidgets(t *testing.T, c *cluster.Cluster, ns string) (group string) {
	t.Helper()
	group = ns + ".example.com"
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-f", e2etest.File(t, waitedKind(group))).Ends(t, 0)
	e2etest.Kubectl(t, c, "wait", "crd/widgets."+group, "--for=jsonpath={.status.conditions[-1:].status}=True")
	undefine(t, c, group)
	return group
}

// undefine removes the kind at the end of the test.
func undefine(t *testing.T, c *cluster.Cluster, group string) {
	t.Cleanup(func() {
		_ = exec.CommandContext(context.WithoutCancel(t.Context()), c.Binary("kubectl"),
			"delete", "crd", "widgets."+group, "--wait=false", "--kubeconfig", c.KubeconfigPath).Run()
	})
}

func setStatus(t *testing.T, c *cluster.Cluster, ns, name, status string) {
	t.Helper()
	e2etest.Kubectl(t, c, "patch", name, "-n", ns, "--subresource=status", "--type=merge", "-p", `{"status":`+status+`}`)
}

// Edge case 45: neither the object nor its kind exists yet. A kind with this name in another group
// of the domain is irrelevant.
func TestWaitForKind(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	newWidgets(t, c, e2etest.Namespace(t, c))
	ns := e2etest.Namespace(t, c)
	group := ns + ".example.com"
	r := e2etest.Start(t, kubeconfig, "wait", "widgets."+group+"/late", "-n", ns, "--for=jsonpath={.status.phase}=Done", "--timeout=2m")
	r.Until(t, "it asks for the kind", func() bool { return len(p.Requests()) > 2 })
	e2etest.Kubectl(t, c, "apply", "-f", e2etest.File(t, waitedKind(group)))
	undefine(t, c, group)
	e2etest.Kubectl(t, c, "wait", "crd/widgets."+group, "--for=jsonpath={.status.conditions[-1:].status}=True")
	r.Until(t, "it watches", func() bool { return watchesOf(p, "widgets") > 0 })
	setStatus(t, c, ns, waitedObject(t, c, group, ns, "late"), `{"phase":"Done"}`)
	r.Wait(t)
	r.Ends(t, 0).Says(t, "waiting for a kind").Says(t, "met")

	// A TYPE that is certainly a typo is not waited for.
	e2etest.Plugin(t, kubeconfig, "wait", "deploymnts/web", "-n", ns).Ends(t, 2).
		Says(t, "did you mean deployments.apps? If not, --existence-timeout=1m waits for the type")
	e2etest.Plugin(t, kubeconfig, "wait", "gadgets/x", "-n", ns, "--existence-timeout=0").Ends(t, 2).Says(t, `does not serve the type "gadgets"`)
	e2etest.Plugin(t, kubeconfig, "wait", "configmap/x", "-n", ns, "--existence-timeout=0").Ends(t, 1).Says(t, "does not exist")
}

func watchesOf(p *proxy.HTTP, resource string) int {
	n := 0
	for _, r := range p.Requests() {
		if strings.Contains(r.URI, "/"+resource+"?") && strings.Contains(r.URI, "watch=true") && r.Status == http.StatusOK {
			n++
		}
	}
	return n
}

// Edge case 46: and, or, and failures, all on one version of the object.
func TestWaitForSeveralConditions(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	group := newWidgets(t, c, ns)
	name := waitedObject(t, c, group, ns, "a")
	status := func(phase, ready string) string {
		return fmt.Sprintf(`{"phase":%q,"conditions":[{"type":"Ready","status":%q}]}`, phase, ready)
	}
	wait := func(flags ...string) *e2etest.Run {
		return e2etest.Start(t, c.KubeconfigPath, append([]string{"wait", name, "-n", ns, "-o", "json", "--timeout=1m"}, flags...)...)
	}
	const ready, done, failed = "condition=Ready", "jsonpath={.status.phase}=Done", "jsonpath={.status.phase}=Failed"
	setStatus(t, c, ns, name, status("Done", "False"))
	all, anyOf := wait("--for", ready, "--for", done), wait("--for", ready, "--for", done, "--any")
	if anyOf.Wait(t); waitedOf(t, anyOf.Ends(t, 0)).Summary["met"] != 1 {
		t.Error(anyOf)
	}
	setStatus(t, c, ns, name, status("Running", "True"))
	setStatus(t, c, ns, name, status("Done", "True"))
	if all.Wait(t); waitedOf(t, all.Ends(t, 0)).Summary["met"] != 1 {
		t.Error(all)
	}
	setStatus(t, c, ns, name, status("Running", "False"))
	fails := wait("--for", ready, "--fail-on", failed)
	setStatus(t, c, ns, name, status("Failed", "False"))
	fails.Wait(t)
	got := waitedOf(t, fails.Ends(t, 1))
	if got.Summary["failed"] != 1 || got.Objects[0].Result != "failed" {
		t.Error(fails)
	}
}

// Edge case 49: deleted, and replaced under the same name.
func TestWaitReplaced(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "configmap", "a", "-n", ns)
	r := e2etest.Start(t, kubeconfig, "wait", "cm/a", "-n", ns, "--for=jsonpath={.data.done}=yes", "--timeout=1m")
	r.Until(t, "it watches", func() bool { return watchesOf(p, "configmaps") > 0 })
	e2etest.Kubectl(t, c, "delete", "configmap", "a", "-n", ns)
	e2etest.Kubectl(t, c, "create", "configmap", "a", "-n", ns, "--from-literal=done=yes")
	r.Wait(t)
	r.Ends(t, 0).Says(t, "was deleted during the wait").Says(t, "met").Says(t, "replaced during the wait")

	// "gone" refers to the object that existed.
	from := watchesOf(p, "configmaps")
	r = e2etest.Start(t, kubeconfig, "wait", "cm/a", "-n", ns, "--for=delete", "--timeout=1m")
	r.Until(t, "it watches", func() bool { return watchesOf(p, "configmaps") > from })
	e2etest.Kubectl(t, c, "delete", "configmap", "a", "-n", ns)
	e2etest.Kubectl(t, c, "create", "configmap", "a", "-n", ns)
	r.Wait(t)
	r.Ends(t, 0)
}

// Edge case 50: users without watch, without list, and with names only.
func TestWaitWithFewRights(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
	for user, rights := range map[string][]string{
		"getter": {"--verb=get"},
		"lister": {"--verb=get,list"},
		"namer":  {"--verb=get,list,watch", "--resource-name=a"},
	} {
		t.Run(user, func(t *testing.T) {
			e2etest.Kubectl(t, c, append([]string{"create", "role", user, "-n", ns, "--resource=configmaps"}, rights...)...)
			e2etest.Kubectl(t, c, "create", "rolebinding", user, "-n", ns, "--role="+user, "--user="+user)
			e2etest.Kubectl(t, c, "create", "configmap", "a", "-n", ns)
			e2etest.Kubectl(t, c, "create", "configmap", "b", "-n", ns)
			kubeconfig, err := c.KubeconfigFor(user)
			if err != nil {
				t.Fatal(err)
			}
			r := e2etest.Start(t, kubeconfig, "wait", "cm/a", "-n", ns, "--for=jsonpath={.data.done}=yes", "--timeout=1m")
			e2etest.Kubectl(t, c, "patch", "configmap", "a", "-n", ns, "-p", `{"data":{"done":"yes"}}`)
			r.Wait(t)
			r.Ends(t, 0)
			r = e2etest.Plugin(t, kubeconfig, "wait", "cm", "a", "b", "-n", ns, "--for=create", "--timeout=1m")
			if user == "namer" {
				r.Ends(t, 2).Says(t, "forbidden")
			} else {
				r.Ends(t, 0)
			}
			e2etest.Kubectl(t, c, "delete", "configmap", "a", "b", "-n", ns)
		})
	}
	kubeconfig, err := c.KubeconfigFor("getter")
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Plugin(t, kubeconfig, "wait", "cm", "--all", "-n", ns).Ends(t, 2).Says(t, "forbidden")
}

// Edge cases 50 and 57: a watch breaks, and the server has forgotten its position.
func TestWaitOverBrokenWatches(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "configmap", "a", "-n", ns)
	watch := func(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }
	p.Fail(1, watch, proxy.Fault{})
	p.Fail(1, watch, proxy.Fault{Status: http.StatusGone})
	p.Fail(1, watch, proxy.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Second})
	p.Fail(1, watch, proxy.Fault{Status: http.StatusInternalServerError})
	r := e2etest.Start(t, kubeconfig, "wait", "cm/a", "-n", ns, "--for=jsonpath={.data.done}=yes", "--timeout=1m")
	r.Until(t, "it watches", func() bool { return watchesOf(p, "configmaps") > 0 })
	e2etest.Kubectl(t, c, "patch", "configmap", "a", "-n", ns, "-p", `{"data":{"done":"yes"}}`)
	r.Wait(t)
	r.Ends(t, 0).Says(t, "trying again")
}

// Edge case 51: changes of an object without a generation are also noticed.
func TestWaitWithoutGeneration(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "secret", "generic", "a", "-n", ns)
	r := e2etest.Start(t, kubeconfig, "wait", "secret/a", "-n", ns, "--for=jsonpath={.data.password}", "--timeout=1m", "-o", "yaml")
	r.Until(t, "it watches", func() bool { return watchesOf(p, "secrets") > 0 })
	e2etest.Kubectl(t, c, "patch", "secret", "a", "-n", ns, "-p", `{"stringData":{"password":"correct horse"}}`)
	r.Wait(t)
	r.Ends(t, 0).Says(t, "name: a")
	for _, secret := range []string{"correct horse", "Y29ycmVjdCBob3JzZQ"} {
		if strings.Contains(r.String(), secret) {
			t.Errorf("shows the secret: %s", r)
		}
	}
}

// Edge case 53: the timeout is for all objects together, and 0 checks once.
func TestWaitTimeout(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(50, 1, "1"))).Ends(t, 0)
	began := time.Now()
	r := e2etest.Plugin(t, kubeconfig, "wait", "cm", "--all", "-n", ns, "--for=jsonpath={.data.never}", "--timeout=1s", "-o", "json")
	if got := waitedOf(t, r.Ends(t, 1)); got.Summary["timeout"] < 50 {
		t.Errorf("%v", got.Summary)
	}
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("took %s, want at most 25 s for all objects", took)
	}
	e2etest.Plugin(t, kubeconfig, "wait", "cm/cm-0001", "-n", ns, "--timeout=0", "--for=jsonpath={.data.value}=1").Ends(t, 0)
	e2etest.Plugin(t, kubeconfig, "wait", "cm/cm-0001", "-n", ns, "--timeout=0", "--for=jsonpath={.data.value}=2").Ends(t, 1)
	for _, r := range p.Requests() {
		if strings.Contains(r.URI, "cm-0001") && strings.Contains(r.URI, "watch=true") && strings.Contains(r.URI, "timeoutSeconds") && r.Failed {
			t.Errorf("%v", r)
		}
	}
	e2etest.Plugin(t, kubeconfig, "wait", "cm", "-l", "no=such", "-n", ns).Ends(t, 2).Says(t, "there are no configmaps with labels no=such")
	e2etest.Plugin(t, kubeconfig, "wait", "cm", "-l", "no=such", "-n", ns, "--for=delete").Ends(t, 0)
}

// Edge cases 55 and 57: after an API error, the result is unknown, and the error is reported.
func TestWaitUnknown(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Kubectl(t, c, "create", "configmap", "a", "-n", ns)
	p.Fail(-1, proxy.Path("GET", "/api/v1/namespaces/"+ns+"/configmaps"), proxy.Fault{Status: http.StatusServiceUnavailable, Message: "the store is away"})
	for _, timeout := range []string{"3s", "5m"} {
		r := e2etest.Plugin(t, kubeconfig, "wait", "cm/a", "-n", ns, "--for=create", "--timeout="+timeout, "--server-timeout=8s", "-o", "json").
			Ends(t, 2).Says(t, "the store is away")
		if got := waitedOf(t, r); got.Objects[0].Result != "unknown" {
			t.Errorf("%s", r)
		}
	}
}

// Edge case 56: the number of requests depends on the kinds, not the objects.
func TestWaitRequests(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(300, 10, "1"))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).Ends(t, 0)
	e2etest.Plugin(t, kubeconfig, "wait", "-n", ns, "-f", set, "--for=jsonpath={.data.value}=1").Ends(t, 0).Says(t, "300 met")
	lists := 0
	for _, r := range p.Requests() {
		if strings.Contains(r.URI, "/configmaps?") && !strings.Contains(r.URI, "watch=true") {
			lists++
		}
	}
	if lists != 1 || watchesOf(p, "configmaps") > 1 {
		t.Errorf("%d lists, %d watches, want one list and at most one watch", lists, watchesOf(p, "configmaps"))
	}
}
