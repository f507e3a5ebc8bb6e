package sets_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster/proxy"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// past is a set's history in its Secrets: results, the oldest run first.
func past(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	return e2etest.Kubectl(t, c, "get", "secrets", "-n", ns, "-l", "k8sconnect.io/history-of", "--sort-by={.metadata.annotations.k8sconnect\\.io/started}",
		"-o", `jsonpath={.items[*].metadata.annotations.k8sconnect\.io/result}`)
}

// The history next to the parent contains a set's last runs with their results. A run with the same
// manifests as the last one adds no entry, and runs beyond the limit are removed.
func TestHistory(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	apply := func(version string, args ...string) *e2etest.Run {
		return e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "-n", ns, "--apply-set=web", "-f", e2etest.File(t, e2etest.ConfigMaps(3, 1, version))}, args...)...)
	}
	apply("1").Ends(t, 0)
	apply("1").Ends(t, 0)
	if got := past(t, c, ns); got != "applied" {
		t.Fatalf("history after two runs with the same input is %q, want applied", got)
	}
	apply("2", "--dry-run=server").Ends(t, 0)
	e2etest.Kubectl(t, c, "patch", "configmap/cm-0001", "-n", ns, "--field-manager=alice", "-p", `{"data":{"value":"alice"}}`)
	apply("2").Ends(t, 1)
	if got := past(t, c, ns); got != "applied failed" {
		t.Fatalf("history after a conflict is %q, want applied failed", got)
	}
	for _, version := range []string{"3", "4", "5"} {
		apply(version, "--take=all", "--history=2").Ends(t, 0)
	}
	if got := past(t, c, ns); got != "applied applied" {
		t.Errorf("history with --history=2 is %q, want two runs", got)
	}
	apply("6", "--history=0").Ends(t, 0)
	if got := past(t, c, ns); got != "applied applied" {
		t.Errorf("history after a run with --history=0 is %q, want no new run", got)
	}
	if members := e2etest.Kubectl(t, c, "get", "secrets", "-n", ns, "-l", "applyset.kubernetes.io/part-of", "-o", "name"); members != "" {
		t.Errorf("the history is part of the set: %s", members)
	}
}

// A failed write of the history stops no run, and is reported.
func TestHistoryWriteRefused(t *testing.T) {
	c := shared.Cluster(t)
	p, kubeconfig := e2etest.Proxied(t, c)
	ns := e2etest.Namespace(t, c)
	p.Fail(-1, proxy.Path("PATCH", "/api/v1/namespaces/"+ns+"/secrets/applyset-"), proxy.Fault{Status: 403, Message: "exceeded quota: secrets"})
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "--apply-set=web", "-f", e2etest.File(t, e2etest.ConfigMaps(2, 1, "1"))).Ends(t, 0).
		Says(t, "cannot be rolled back to this run").Says(t, "exceeded quota").Says(t, "2 created")
}

// sets rollback shows the changes, requires a confirmation, and applies an earlier run again:
// values are restored, and newer objects are pruned.
func TestRollback(t *testing.T) {
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	apply := func(objects int, version string) {
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=web", "--prune", "-f", e2etest.File(t, e2etest.ConfigMaps(objects, 1, version))).Ends(t, 0)
	}
	apply(2, "1")
	apply(3, "2")
	back := func(args ...string) *e2etest.Run {
		return e2etest.Plugin(t, c.KubeconfigPath, append([]string{"sets", "rollback", "web", "-n", ns}, args...)...)
	}
	shown := back().Ends(t, 1).Says(t, "nothing was done").Says(t, "2 to update, 1 to delete")
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "2" {
		t.Fatalf("the value is %s without a confirmation, want 2", got)
	}
	digest := regexp.MustCompile(`--confirm=(v2-[0-9a-f]{32})`).FindStringSubmatch(shown.Stderr.String())
	if digest == nil {
		t.Fatalf("no digest: %s", shown)
	}
	back("--confirm=v2-0123456789abcdef0123456789abcdef").Ends(t, 1).Says(t, "does not match what")
	var document struct {
		Digest  string
		Objects []struct{ Action string }
	}
	refused := back("-o", "json").Ends(t, 1).Stdout.String()
	if err := json.Unmarshal([]byte(refused), &document); err != nil || document.Digest != digest[1] || len(document.Objects) != 3 {
		t.Errorf("%v: want a document with the digest %s and 3 objects: %s", err, digest[1], refused)
	}
	back("--confirm="+digest[1]).Ends(t, 0).Says(t, "2 configured").Says(t, "1 pruned")
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "1" {
		t.Errorf("the value is %s, want 1", got)
	}
	if got := e2etest.Kubectl(t, c, "get", "configmap", "cm-0002", "-n", ns, "--ignore-not-found"); got != "" {
		t.Errorf("an object created after that run still exists: %s", got)
	}
	// A rollback is a run like any other: it can itself be rolled back.
	again := back("--yes", "-o", "json").Ends(t, 0).Stdout.String()
	if err := json.Unmarshal([]byte(again), &document); err != nil || !strings.Contains(again, `"created"`) {
		t.Errorf("%v: want one document, of what was applied: %s", err, again)
	}
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "2" {
		t.Errorf("the value is %s, want 2", got)
	}
	back("--to=nosuchrun").Ends(t, 2).Says(t, "the history has no run nosuchrun")
	e2etest.Plugin(t, c.KubeconfigPath, "sets", "rollback", "nosuchset", "-n", ns).Ends(t, 2).Says(t, "there is no set secret/nosuchset")
}
