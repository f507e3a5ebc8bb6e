package sets_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// setRuns are the runs that the role for sets allows, in the order of a set's life.
func setRuns(t *testing.T, parent string) [][]string {
	t.Helper()
	apply := func(text string) []string {
		return []string{"apply", "-f", e2etest.File(t, text), "--apply-set=" + parent, "--prune", "--atomic"}
	}
	return [][]string{
		apply(e2etest.ConfigMaps(3, 1, "1")),
		apply(e2etest.Without(e2etest.ConfigMaps(3, 1, "2"), "cm-0002")),
		{"sets"},
		{"sets", parent},
		{"sets", "rollback", parent, "--yes"},
		{"sets", "delete", parent, "--yes"},
	}
}

// complaint matches a message about a missing right.
var complaint = regexp.MustCompile(`(?i)warning|forbidden|permission|cannot|may not|is not allowed`)

// The role in docs/rbac.md suffices for all runs with a set, without any complaint, and each of its
// rights is needed: without it, the first run that needs it names it.
func TestRoleForSets(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	role, ok := e2etest.RolesToCopy(t, "../../../docs/rbac.md")["k8sconnect-sets"]
	if !ok {
		t.Fatal("docs/rbac.md has no role for sets")
	}
	const user = "setter"
	kubeconfig, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("all rights", func(t *testing.T) {
		ns := e2etest.Namespace(t, c)
		bind(t, c, role, ns, user)
		for _, args := range setRuns(t, "shop") {
			r := e2etest.Plugin(t, kubeconfig, append(args, "-n", ns)...).Ends(t, 0)
			if message := r.Stdout.String() + r.Stderr.String(); complaint.MatchString(message) {
				t.Errorf("output contains a complaint: %s", r)
			}
			if args[0] == "apply" && e2etest.Kubectl(t, c, "get", "events", "-n", ns, "-o", "name") == "" {
				t.Errorf("no Event: %s", r)
			}
		}
	})
	for i, rule := range role.Rules {
		if slices.Contains(rule.Resources, "events") {
			continue // without this right, there are no Events and no message
		}
		for j, right := range rule.Verbs {
			t.Run("without "+right+" "+rule.Resources[0], func(t *testing.T) {
				if j > 0 { // one right of each rule
					circle.Full(t)
				}
				ns := e2etest.Namespace(t, c)
				less := role.DeepCopy()
				less.Rules[i].Verbs = slices.Delete(less.Rules[i].Verbs, j, j+1)
				bind(t, c, *less, ns, user)
				for _, args := range setRuns(t, "shop") {
					r := e2etest.Plugin(t, kubeconfig, append(args, "-n", ns, "--timeout=30s")...)
					message := r.Stdout.String() + r.Stderr.String()
					if r.Cmd.ProcessState.ExitCode() == 0 && !complaint.MatchString(message) {
						continue
					}
					if !names(message, right, rule.Resources[0]) {
						t.Errorf("output does not name the missing right to %s %s: %s", right, rule.Resources[0], r)
					}
					return
				}
				t.Error("all runs succeed without the right, and none reports it")
			})
		}
	}
}

// names reports whether a text names a missing right.
func names(message, right, resource string) bool {
	for line := range strings.Lines(message) {
		if strings.Contains(line, resource) && strings.Contains(line, right) {
			return true
		}
	}
	return false
}

// bind grants a role's rights to a user in a namespace, and returns when the API server enforces
// that.
func bind(t *testing.T, c *cluster.Cluster, role rbacv1.Role, ns, user string) {
	t.Helper()
	role.Namespace, role.APIVersion, role.Kind = ns, "rbac.authorization.k8s.io/v1", "Role"
	text, err := yaml.Marshal(role)
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Kubectl(t, c, "create", "-f", e2etest.File(t, string(text)))
	e2etest.Kubectl(t, c, "create", "rolebinding", user, "-n", ns, "--role="+role.Name, "--user="+user)
	e2etest.Until(t, "the role counts", func() bool {
		_, refused := e2etest.KubectlCommand(t, c, "auth", "can-i", role.Rules[0].Verbs[0], role.Rules[0].Resources[0], "-n", ns, "--as="+user).Output()
		return refused == nil
	})
}
