package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// If another client deletes and recreates the object after it was read, the new one is not the
// object to recreate, and is not deleted (edge cases 29, 68).
func TestRecreateReplacedObject(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, strings.ReplaceAll(e2etest.RecreatedJob, "IMAGE", "1"))).Ends(t, 0)
	uid := func() string {
		return e2etest.Kubectl(t, c, "get", "job/j", "-n", ns, "-o", "jsonpath={.metadata.uid}")
	}
	theirs := ""
	asked := func(r *http.Request) bool { // the dry run of the manifest as a new object
		return strings.Contains(r.URL.Path, "/namespaces/"+ns+"/jobs/j-k8sconnect-probe")
	}
	e2etest.Before(p, asked, func() {
		e2etest.Kubectl(t, c, "delete", "job/j", "-n", ns, "--wait=true")
		e2etest.Kubectl(t, c, "create", "-n", ns, "-f", e2etest.File(t, strings.ReplaceAll(e2etest.RecreatedJob, "IMAGE", "theirs")))
		theirs = uid()
	})
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, strings.ReplaceAll(e2etest.RecreatedJob, "IMAGE", "2")), "--recreate=job/j").Ends(t, 1).
		Says(t, "that object was left alone")
	if theirs == "" || uid() != theirs {
		t.Errorf("the Job has the UID %s, not %s", uid(), theirs)
	}
}

// An object whose deletion does not finish is not recreated, and the report says what blocks it.
func TestRecreateWithFinalizer(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, strings.ReplaceAll(e2etest.RecreatedJob, "IMAGE", "1"))).Ends(t, 0)
	e2etest.Kubectl(t, c, "patch", "job/j", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	r := e2etest.Start(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, strings.ReplaceAll(e2etest.RecreatedJob, "IMAGE", "2")), "--recreate=job/j")
	r.Until(t, "it is being deleted", func() bool {
		return e2etest.Kubectl(t, c, "get", "job/j", "-n", ns, "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
	})
	if n := created(p, "/namespaces/"+ns+"/jobs/j"); n != 1 {
		t.Errorf("%d writes of the Job while a finalizer holds it, want 1", n)
	}
	e2etest.Kubectl(t, c, "patch", "job/j", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	r.Wait(t)
	r.Ends(t, 0).Says(t, "1 recreated")
}

// created counts the accepted persistent applies of a path.
func created(p *proxy.HTTP, path string) int {
	n := 0
	for _, r := range p.Requests() {
		at, query, _ := strings.Cut(r.URI, "?")
		if r.Method == http.MethodPatch && r.Status < 300 && strings.HasSuffix(at, path) && e2etest.IsWrite(r.Method, query) {
			n++
		}
	}
	return n
}
