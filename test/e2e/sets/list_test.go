package sets_test

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A kind that cannot be listed is named with a hint, and the rest is still shown. The status is
// never 0 then, because unseen members may exist.
func TestSetsWithoutRights(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
	const user = "looker"
	kubeconfig, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Plugin(t, c.KubeconfigPath, applySet(ns, e2etest.File(t, e2etest.ConfigMaps(1, 1, "1")))...).Ends(t, 0)
	list := func(args ...string) *e2etest.Run {
		return e2etest.Plugin(t, kubeconfig, append([]string{"sets"}, args...)...).Ends(t, 2)
	}
	for _, args := range [][]string{{"-A"}, {"-A", "-o", "json"}} {
		r := list(args...).Says(t, "sets whose parent is a Secret: secrets is forbidden").Says(t, "sets whose parent is a ConfigMap: configmaps is forbidden").
			Says(t, "hint: list the sets in a namespace that you may read: kubectl k8sconnect sets -n NAMESPACE")
		if out := r.Stdout.String(); out != "" {
			t.Errorf("stdout is %q, want nothing, because no set could be listed", out)
		}
	}
	list("-n", ns).Says(t, "sets whose parent is a Secret: secrets is forbidden").Says(t, "hint: listing sets needs the verb list on secrets and configmaps: see docs/rbac.md")

	// A set whose members cannot be listed is shown with its name.
	e2etest.Kubectl(t, c, "create", "role", user, "-n", ns, "--verb=list", "--resource=secrets")
	e2etest.Kubectl(t, c, "create", "rolebinding", user, "-n", ns, "--role="+user, "--user="+user)
	e2etest.Until(t, "it may list Secrets", func() bool {
		return e2etest.KubectlCommand(t, c, "auth", "can-i", "list", "secrets", "-n", ns, "--as="+user).Run() == nil
	})
	r := list("-n", ns).Says(t, "secret/shop").Says(t, "sets whose parent is a ConfigMap: configmaps is forbidden").
		Says(t, "members of secret/shop -n "+ns+": configmaps is forbidden").
		Says(t, "hint: the members of a set are found by listing its kinds, which needs the verb list in namespace "+ns+": see docs/rbac.md")
	if strings.Contains(r.Stderr.String(), "is gone for good") {
		t.Errorf("the existing namespace is reported as gone: %s", r)
	}
	list("shop", "-n", ns).Says(t, `cannot get resource "secrets"`)
}
