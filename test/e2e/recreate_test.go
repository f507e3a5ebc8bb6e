package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

const recreatedJob = `{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {suspend: true,
  template: {spec: {restartPolicy: Never, containers: [{name: app, image: "app:IMAGE"}]}}}}`

// If another client deletes and recreates the object after it was read, the new one is not the
// object to recreate, and is not deleted (edge cases 29, 68).
func TestRecreateReplacedObject(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, strings.ReplaceAll(recreatedJob, "IMAGE", "1"))).ends(t, 0)
	uid := func() string { return kubectl(t, c, "get", "job/j", "-n", ns, "-o", "jsonpath={.metadata.uid}") }
	theirs := ""
	asked := func(r *http.Request) bool { // the dry run of the manifest as a new object
		return strings.Contains(r.URL.Path, "/namespaces/"+ns+"/jobs/j-k8sconnect-probe")
	}
	before(p, asked, func() {
		kubectl(t, c, "delete", "job/j", "-n", ns, "--wait=true")
		kubectl(t, c, "create", "-n", ns, "-f", file(t, strings.ReplaceAll(recreatedJob, "IMAGE", "theirs")))
		theirs = uid()
	})
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, strings.ReplaceAll(recreatedJob, "IMAGE", "2")), "--recreate=job/j").ends(t, 1).
		says(t, "that object was left alone")
	if theirs == "" || uid() != theirs {
		t.Errorf("the Job has the UID %s, not %s", uid(), theirs)
	}
}

// An object whose deletion does not finish is not recreated, and the report says what blocks it.
func TestRecreateWithFinalizer(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, strings.ReplaceAll(recreatedJob, "IMAGE", "1"))).ends(t, 0)
	kubectl(t, c, "patch", "job/j", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	r := start(t, kubeconfig, "apply", "-n", ns, "-f", file(t, strings.ReplaceAll(recreatedJob, "IMAGE", "2")), "--recreate=job/j")
	r.until(t, "it is being deleted", func() bool {
		return kubectl(t, c, "get", "job/j", "-n", ns, "-o", "jsonpath={.metadata.deletionTimestamp}") != ""
	})
	if n := created(p, "/namespaces/"+ns+"/jobs/j"); n != 1 {
		t.Errorf("%d writes of the Job while a finalizer holds it, want 1", n)
	}
	kubectl(t, c, "patch", "job/j", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	r.wait(t)
	r.ends(t, 0).says(t, "1 recreated")
}

// created counts the accepted persistent applies of a path.
func created(p *proxy.HTTP, path string) int {
	n := 0
	for _, r := range p.Requests() {
		at, query, _ := strings.Cut(r.URI, "?")
		if r.Method == http.MethodPatch && r.Status < 300 && strings.HasSuffix(at, path) && isWrite(r.Method, query) {
			n++
		}
	}
	return n
}
