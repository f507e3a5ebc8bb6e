package e2e_test

import (
	"strings"
	"testing"
)

// Unchanged objects cost no writes, and one read for many (edge case 27).
func TestUnchangedCostsOneRead(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns, set := namespace(t, c), file(t, configMaps(200, 100, "1"))
	r := k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 0)
	if n := written(p); n != 200 {
		t.Errorf("%d writes for 200 new objects: %s", n, r)
	}
	from := len(p.Requests())
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 0).says(t, "200 unchanged")
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
	from = written(p)
	kubectl(t, c, "delete", "configmap/cm-0007", "-n", ns)
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 0).says(t, "1 created, 199 unchanged")
	if n := written(p) - from; n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
}

// The two dry runs and a phase with a conflict write nothing.
func TestDryRunAndConflictWriteNothing(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns, set := namespace(t, c), file(t, configMaps(30, 1, "1"))
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set, "--dry-run=server").ends(t, 0).says(t, "30 created (dry run")
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set, "--dry-run=client").ends(t, 0).says(t, "30 to create (client dry run")
	k8sconnect(t, kubeconfig, "diff", "-n", ns, "-f", set).ends(t, 1)
	if n := written(p); n != 0 {
		t.Errorf("%d writes", n)
	}
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 0)
	kubectl(t, c, "patch", "configmap/cm-0020", "-n", ns, "--field-manager=alice", "-p", `{"data":{"value":"alice"}}`)
	from := written(p)
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", file(t, configMaps(30, 1, "2"))).ends(t, 1).says(t, "1 conflict, 29 skipped")
	if n := written(p) - from; n != 0 {
		t.Errorf("%d writes in a phase with a conflict", n)
	}
}

// An object too large for the annotation of client-side apply (edge case 30).
func TestLargeObject(t *testing.T) {
	c := shared.Cluster(t)
	ns, set := namespace(t, c), file(t, configMaps(1, 600_000, "1"))
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).ends(t, 0).says(t, "1 created")
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set).ends(t, 0).says(t, "1 unchanged")
	k8sconnect(t, c.KubeconfigPath, "diff", "-n", ns, "-f", set).ends(t, 0)
}
