package e2e_test

import (
	"strings"
	"testing"
)

// A kind that cannot be listed is named with a hint, and the rest is still shown. The status is
// never 0 then, because unseen members may exist.
func TestSetsWithoutRights(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := namespace(t, c)
	const user = "looker"
	kubeconfig, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	k8sconnect(t, c.KubeconfigPath, applySet(ns, file(t, configMaps(1, 1, "1")))...).ends(t, 0)
	list := func(args ...string) *run {
		return k8sconnect(t, kubeconfig, append([]string{"sets"}, args...)...).ends(t, 2)
	}
	for _, args := range [][]string{{"-A"}, {"-A", "-o", "json"}} {
		r := list(args...).says(t, "sets whose parent is a Secret: secrets is forbidden").says(t, "sets whose parent is a ConfigMap: configmaps is forbidden").
			says(t, "hint: list the sets in a namespace that you may read: kubectl k8sconnect sets -n NAMESPACE")
		if out := r.stdout.String(); out != "" {
			t.Errorf("stdout is %q, want nothing, because no set could be listed", out)
		}
	}
	list("-n", ns).says(t, "sets whose parent is a Secret: secrets is forbidden").says(t, "hint: listing sets needs the verb list on secrets and configmaps: see docs/rbac.md")

	// A set whose members cannot be listed is shown with its name.
	kubectl(t, c, "create", "role", user, "-n", ns, "--verb=list", "--resource=secrets")
	kubectl(t, c, "create", "rolebinding", user, "-n", ns, "--role="+user, "--user="+user)
	until(t, "it may list Secrets", func() bool {
		return kubectlCommand(t, c, "auth", "can-i", "list", "secrets", "-n", ns, "--as="+user).Run() == nil
	})
	r := list("-n", ns).says(t, "secret/shop").says(t, "sets whose parent is a ConfigMap: configmaps is forbidden").
		says(t, "members of secret/shop -n "+ns+": configmaps is forbidden").
		says(t, "hint: the members of a set are found by listing its kinds, which needs the verb list in namespace "+ns+": see docs/rbac.md")
	if strings.Contains(r.stderr.String(), "is gone for good") {
		t.Errorf("the existing namespace is reported as gone: %s", r)
	}
	list("shop", "-n", ns).says(t, `cannot get resource "secrets"`)
}
