package e2e_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// Unchanged objects cost no writes, and one read for many (edge case 27).
func TestUnchangedCostsOneRead(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(200, 100, "1"))
	r := e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0)
	if n := e2etest.Written(p); n != 200 {
		t.Errorf("%d writes for 200 new objects: %s", n, r)
	}
	from := len(p.Requests())
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "200 unchanged")
	var reads, others []string
	for _, r := range p.Requests()[from:] {
		if r.Method == "GET" && strings.HasPrefix(r.URI, "/api/v1/namespaces/"+ns) {
			reads = append(reads, r.URI)
		} else if r.Method != "GET" {
			others = append(others, r.Method+" "+r.URI)
		}
	}
	if len(reads) != 1 || len(others) != 0 {
		t.Errorf("reads are %v, want one; other requests are %v, want none", reads, others)
	}

	// A changed object costs one more write.
	from = e2etest.Written(p)
	e2etest.Kubectl(t, c, "delete", "configmap/cm-0007", "-n", ns)
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "1 created, 199 unchanged")
	if n := e2etest.Written(p) - from; n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
}

// The two dry runs and a phase with a conflict write nothing.
func TestDryRunAndConflictWriteNothing(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(30, 1, "1"))
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "--dry-run=server").Ends(t, 0).Says(t, "30 created (dry run")
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set, "--dry-run=client").Ends(t, 0).Says(t, "30 to create (client dry run")
	e2etest.Plugin(t, kubeconfig, "diff", "-n", ns, "-f", set).Ends(t, 1)
	if n := e2etest.Written(p); n != 0 {
		t.Errorf("%d writes", n)
	}
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0)
	e2etest.Kubectl(t, c, "patch", "configmap/cm-0020", "-n", ns, "--field-manager=alice", "-p", `{"data":{"value":"alice"}}`)
	from := e2etest.Written(p)
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", e2etest.File(t, e2etest.ConfigMaps(30, 1, "2"))).Ends(t, 1).Says(t, "1 conflict, 29 skipped")
	if n := e2etest.Written(p) - from; n != 0 {
		t.Errorf("%d writes in a phase with a conflict", n)
	}
}

// An object too large for the annotation of client-side apply (edge case 30).
func TestLargeObject(t *testing.T) {
	c := shared.Cluster(t)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(1, 600_000, "1"))
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "1 created")
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "1 unchanged")
	e2etest.Plugin(t, c.KubeconfigPath, "diff", "-n", ns, "-f", set).Ends(t, 0)
}
