package e2e_test

import (
	"regexp"
	"strings"
	"testing"
)

// confirmation returns the digest with which a refused run can be confirmed.
func confirmation(t *testing.T, r *run) string {
	t.Helper()
	digest := regexp.MustCompile(`--confirm=([0-9a-f]{32})`).FindStringSubmatch(r.stderr.String())
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
	ns := namespace(t, c)
	for _, version := range []string{"1", "2"} {
		k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=web", "--prune", "-f", file(t, configMaps(3, 1, version))).ends(t, 0)
	}
	args := []string{"sets", "rollback", "web", "-n", ns}
	digest := confirmation(t, k8sconnect(t, c.KubeconfigPath, args...).ends(t, 1))
	if again := confirmation(t, k8sconnect(t, c.KubeconfigPath, args...).ends(t, 1)); again != digest {
		t.Fatalf("different digests for the same changes: %s and %s", digest, again)
	}
	hold := func(holder string) {
		kubectl(t, c, "patch", "lease", lease(t, c, ns), "-n", ns, "--type=merge", "-p",
			`{"spec":{"holderIdentity":"`+holder+`","leaseDurationSeconds":3600}}`)
	}
	// The run has shown its plan, and waits for the lock that another run has.
	hold("somebody")
	r := start(t, c.KubeconfigPath, append(args, "--confirm="+digest, "--lock-timeout=5m")...)
	r.until(t, "it waits for the lock", func() bool {
		return strings.Contains(kubectl(t, c, "get", "lease", "-n", ns, "-o", "jsonpath={.items[0].spec.holderIdentity}"), "somebody") &&
			strings.Contains(r.stderr.String(), "the lock of")
	})
	kubectl(t, c, "delete", "configmap", "cm-0001", "-n", ns)
	hold("")
	r.wait(t)
	r.ends(t, 1).says(t, "nothing was done: the cluster has changed since the changes were shown")
	if got := value(t, c, ns, "cm-0000"); got != "2" {
		t.Errorf("without a confirmation, the value changed to %s", got)
	}
	if out := kubectl(t, c, "get", "configmap", "cm-0001", "-n", ns, "--ignore-not-found"); out != "" {
		t.Errorf("the refused rollback created an object: %s", out)
	}
	// The current digest can be confirmed, and the rollback runs.
	digest = confirmation(t, k8sconnect(t, c.KubeconfigPath, args...).ends(t, 1))
	k8sconnect(t, c.KubeconfigPath, append(args, "--confirm="+digest)...).ends(t, 0).says(t, "1 created").says(t, "2 configured")
}
