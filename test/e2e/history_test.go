package e2e_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
)

// past is a set's history in its Secrets: results, the oldest run first.
func past(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	return kubectl(t, c, "get", "secrets", "-n", ns, "-l", "k8sconnect.io/history-of", "--sort-by={.metadata.annotations.k8sconnect\\.io/started}",
		"-o", `jsonpath={.items[*].metadata.annotations.k8sconnect\.io/result}`)
}

// The history next to the parent contains a set's last runs with their results. A run with the same
// manifests as the last one adds no entry, and runs beyond the limit are removed.
func TestHistory(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	apply := func(version string, args ...string) *run {
		return k8sconnect(t, c.KubeconfigPath, append([]string{"apply", "-n", ns, "--apply-set=web", "-f", file(t, configMaps(3, 1, version))}, args...)...)
	}
	apply("1").ends(t, 0)
	apply("1").ends(t, 0)
	if got := past(t, c, ns); got != "applied" {
		t.Fatalf("history after two runs with the same input is %q, want applied", got)
	}
	apply("2", "--dry-run=server").ends(t, 0)
	kubectl(t, c, "patch", "configmap/cm-0001", "-n", ns, "--field-manager=alice", "-p", `{"data":{"value":"alice"}}`)
	apply("2").ends(t, 1)
	if got := past(t, c, ns); got != "applied failed" {
		t.Fatalf("history after a conflict is %q, want applied failed", got)
	}
	for _, version := range []string{"3", "4", "5"} {
		apply(version, "--take=all", "--history=2").ends(t, 0)
	}
	if got := past(t, c, ns); got != "applied applied" {
		t.Errorf("history with --history=2 is %q, want two runs", got)
	}
	apply("6", "--history=0").ends(t, 0)
	if got := past(t, c, ns); got != "applied applied" {
		t.Errorf("history after a run with --history=0 is %q, want no new run", got)
	}
	if members := kubectl(t, c, "get", "secrets", "-n", ns, "-l", "applyset.kubernetes.io/part-of", "-o", "name"); members != "" {
		t.Errorf("the history is part of the set: %s", members)
	}
}

// A failed write of the history stops no run, and is reported.
func TestHistoryWriteRefused(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := proxied(t, c)
	ns := namespace(t, c)
	p.Fail(-1, proxy.Path("PATCH", "/api/v1/namespaces/"+ns+"/secrets/applyset-"), proxy.Fault{Status: 403, Message: "exceeded quota: secrets"})
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "--apply-set=web", "-f", file(t, configMaps(2, 1, "1"))).ends(t, 0).
		says(t, "cannot be rolled back to this run").says(t, "exceeded quota").says(t, "2 created")
}

// sets rollback shows the changes, requires a confirmation, and applies an earlier run again:
// values are restored, and newer objects are pruned.
func TestRollback(t *testing.T) {
	c := shared.Cluster(t)
	ns := namespace(t, c)
	apply := func(objects int, version string) {
		k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=web", "--prune", "-f", file(t, configMaps(objects, 1, version))).ends(t, 0)
	}
	apply(2, "1")
	apply(3, "2")
	back := func(args ...string) *run {
		return k8sconnect(t, c.KubeconfigPath, append([]string{"sets", "rollback", "web", "-n", ns}, args...)...)
	}
	shown := back().ends(t, 1).says(t, "nothing was done").says(t, "2 to update, 1 to delete")
	if got := value(t, c, ns, "cm-0000"); got != "2" {
		t.Fatalf("the value is %s without a confirmation, want 2", got)
	}
	digest := regexp.MustCompile(`--confirm=([0-9a-f]{32})`).FindStringSubmatch(shown.stderr.String())
	if digest == nil {
		t.Fatalf("no digest: %s", shown)
	}
	back("--confirm=0123456789abcdef0123456789abcdef").ends(t, 1).says(t, "does not match what")
	var document struct {
		Digest  string
		Objects []struct{ Action string }
	}
	refused := back("-o", "json").ends(t, 1).stdout.String()
	if err := json.Unmarshal([]byte(refused), &document); err != nil || document.Digest != digest[1] || len(document.Objects) != 3 {
		t.Errorf("%v: want a document with the digest %s and 3 objects: %s", err, digest[1], refused)
	}
	back("--confirm="+digest[1]).ends(t, 0).says(t, "2 configured").says(t, "1 pruned")
	if got := value(t, c, ns, "cm-0000"); got != "1" {
		t.Errorf("the value is %s, want 1", got)
	}
	if got := kubectl(t, c, "get", "configmap", "cm-0002", "-n", ns, "--ignore-not-found"); got != "" {
		t.Errorf("an object created after that run still exists: %s", got)
	}
	// A rollback is a run like any other: it can itself be rolled back.
	again := back("--yes", "-o", "json").ends(t, 0).stdout.String()
	if err := json.Unmarshal([]byte(again), &document); err != nil || !strings.Contains(again, `"created"`) {
		t.Errorf("%v: want one document, of what was applied: %s", err, again)
	}
	if got := value(t, c, ns, "cm-0000"); got != "2" {
		t.Errorf("the value is %s, want 2", got)
	}
	back("--to=nosuchrun").ends(t, 2).says(t, "the history has no run nosuchrun")
	k8sconnect(t, c.KubeconfigPath, "sets", "rollback", "nosuchset", "-n", ns).ends(t, 2).says(t, "there is no set secret/nosuchset")
}
