package e2e_test

import (
	"strings"
	"testing"
)

// If a user may get objects but not list them, the plugin reads them one by one.
func TestApplyWithoutListPermission(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns, set := namespace(t, c), file(t, configMaps(30, 1, "1"))
	kubectl(t, c, "create", "role", "writer", "-n", ns, "--verb=get,create,patch", "--resource=configmaps")
	kubectl(t, c, "create", "rolebinding", "writer", "-n", ns, "--role=writer", "--user=carol")
	kubeconfig, err := c.KubeconfigFor("carol")
	if err != nil {
		t.Fatal(err)
	}
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 0).says(t, "30 created")
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", set).ends(t, 0).says(t, "30 unchanged")
	k8sconnect(t, kubeconfig, "diff", "-n", ns, "-f", set).ends(t, 0)

	// If a user may not write, each object that would change gets an error. These errors do not
	// count as refusals of the objects.
	kubectl(t, c, "delete", "role/writer", "-n", ns)
	kubectl(t, c, "create", "role", "writer", "-n", ns, "--verb=get", "--resource=configmaps")
	changed := file(t, configMaps(29, 1, "1")+strings.ReplaceAll(configMaps(1, 1, "2"), "cm-0000", "cm-0029"))
	k8sconnect(t, kubeconfig, "apply", "-n", ns, "-f", changed).ends(t, 2).says(t, "29 unchanged, 1 failed").
		says(t, `User "carol" cannot patch`).says(t, "hint: see: kubectl auth can-i patch configmaps -n "+ns)
	k8sconnect(t, kubeconfig, "diff", "-n", ns, "-f", changed).ends(t, 2).
		says(t, "hint: see: kubectl auth can-i patch configmaps -n "+ns)
}

// The run's id is in the output and at the start of each request's audit id, so that the audit log
// can be matched with the output.
func TestAuditID(t *testing.T) {
	t.Parallel() // uses only its own namespace
	c := shared.Cluster(t)
	c.OwnOnly(t)
	r := k8sconnect(t, c.KubeconfigPath, "apply", "-n", namespace(t, c), "-f", file(t, configMaps(3, 1, "1")), "-o", "json").ends(t, 0)
	id := r.report(t).Run
	if id == "" {
		t.Fatalf("no run id: %s", r)
	}
	until(t, "three writes of the run are logged", func() bool {
		events, err := c.AuditEvents()
		if err != nil {
			t.Fatal(err)
		}
		writes := 0
		for _, e := range events {
			if e.Stage == "ResponseComplete" && e.Verb == "patch" && strings.HasPrefix(e.AuditID, id) {
				writes++
			}
		}
		return writes == 3
	})
}
