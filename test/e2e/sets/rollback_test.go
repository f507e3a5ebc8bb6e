package sets_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// confirmation returns the digest with which a refused run can be confirmed.
func confirmation(t *testing.T, r *e2etest.Run) string {
	t.Helper()
	digest := regexp.MustCompile(`--confirm=(v2-[0-9a-f]{32})`).FindStringSubmatch(r.Stderr.String())
	if digest == nil {
		t.Fatalf("no digest: %s", r)
	}
	return digest[1]
}

// A confirmed rollback is compared again under the set's lock: a change since the plan was shown
// stops it, even right after the run itself has shown the plan.
func TestRollbackComparesAgainUnderLock(t *testing.T) {
	t.Parallel() // uses only its own namespaces
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	for _, version := range []string{"1", "2"} {
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=web", "--prune", "-f", e2etest.File(t, e2etest.ConfigMaps(3, 1, version))).Ends(t, 0)
	}
	args := []string{"sets", "rollback", "web", "-n", ns}
	digest := confirmation(t, e2etest.Plugin(t, c.KubeconfigPath, args...).Ends(t, 1))
	if again := confirmation(t, e2etest.Plugin(t, c.KubeconfigPath, args...).Ends(t, 1)); again != digest {
		t.Fatalf("different digests for the same changes: %s and %s", digest, again)
	}
	hold := func(holder string) {
		e2etest.Kubectl(t, c, "patch", "lease", e2etest.Lease(t, c, ns), "-n", ns, "--type=merge", "-p",
			`{"spec":{"holderIdentity":"`+holder+`","leaseDurationSeconds":3600}}`)
	}
	// The run has shown its plan, and waits for the lock that another run has.
	hold("somebody")
	r := e2etest.Start(t, c.KubeconfigPath, append(args, "--confirm="+digest, "--lock-timeout=5m")...)
	r.Until(t, "it waits for the lock", func() bool {
		return strings.Contains(e2etest.Kubectl(t, c, "get", "lease", "-n", ns, "-o", "jsonpath={.items[0].spec.holderIdentity}"), "somebody") &&
			strings.Contains(r.Stderr.String(), "the lock of")
	})
	e2etest.Kubectl(t, c, "delete", "configmap", "cm-0001", "-n", ns)
	hold("")
	r.Wait(t)
	r.Ends(t, 1).Says(t, "nothing was done: the cluster has changed since the changes were shown")
	if got := e2etest.ValueOf(t, c, ns, "cm-0000"); got != "2" {
		t.Errorf("without a confirmation, the value changed to %s", got)
	}
	if out := e2etest.Kubectl(t, c, "get", "configmap", "cm-0001", "-n", ns, "--ignore-not-found"); out != "" {
		t.Errorf("the refused rollback created an object: %s", out)
	}
	// The current digest can be confirmed, and the rollback runs.
	digest = confirmation(t, e2etest.Plugin(t, c.KubeconfigPath, args...).Ends(t, 1))
	e2etest.Plugin(t, c.KubeconfigPath, append(args, "--confirm="+digest)...).Ends(t, 0).Says(t, "1 created").Says(t, "2 configured")
}
