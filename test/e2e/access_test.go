package e2e_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// If a user may get objects but not list them, the plugin reads them one by one.
func TestApplyWithoutListPermission(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns, set := e2etest.Namespace(t, c), e2etest.File(t, e2etest.ConfigMaps(30, 1, "1"))
	e2etest.Kubectl(t, c, "create", "role", "writer", "-n", ns, "--verb=get,create,patch", "--resource=configmaps")
	e2etest.Kubectl(t, c, "create", "rolebinding", "writer", "-n", ns, "--role=writer", "--user=carol")
	kubeconfig, err := c.KubeconfigFor("carol")
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "30 created")
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", set).Ends(t, 0).Says(t, "30 unchanged")
	e2etest.Plugin(t, kubeconfig, "diff", "-n", ns, "-f", set).Ends(t, 0)

	// If a user may not write, each object that would change gets an error. These errors do not
	// count as refusals of the objects.
	e2etest.Kubectl(t, c, "delete", "role/writer", "-n", ns)
	e2etest.Kubectl(t, c, "create", "role", "writer", "-n", ns, "--verb=get", "--resource=configmaps")
	changed := e2etest.File(t, e2etest.ConfigMaps(29, 1, "1")+strings.ReplaceAll(e2etest.ConfigMaps(1, 1, "2"), "cm-0000", "cm-0029"))
	e2etest.Plugin(t, kubeconfig, "apply", "-n", ns, "-f", changed).Ends(t, 2).Says(t, "29 unchanged, 1 failed").
		Says(t, `User "carol" cannot patch`).Says(t, "hint: see: kubectl auth can-i patch configmaps -n "+ns)
	e2etest.Plugin(t, kubeconfig, "diff", "-n", ns, "-f", changed).Ends(t, 2).
		Says(t, "hint: see: kubectl auth can-i patch configmaps -n "+ns)
}

// The run's id is in the output and at the start of each request's audit id, so that the audit log
// can be matched with the output.
func TestAuditID(t *testing.T) {
	t.Parallel() // uses only its own namespace
	c := shared.Cluster(t)
	c.OwnOnly(t)
	r := e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", e2etest.Namespace(t, c), "-f", e2etest.File(t, e2etest.ConfigMaps(3, 1, "1")), "-o", "json").Ends(t, 0)
	id := r.Report(t).Run
	if id == "" {
		t.Fatalf("no run id: %s", r)
	}
	e2etest.Until(t, "three writes of the run are logged", func() bool {
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
