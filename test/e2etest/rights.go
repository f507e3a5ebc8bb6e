package e2etest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// RolesToCopy returns the roles in a page by name.
func RolesToCopy(t *testing.T, file string) map[string]rbacv1.Role {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]rbacv1.Role{}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		var role rbacv1.Role
		if err := yaml.UnmarshalStrict([]byte(block[1]), &role); err != nil {
			t.Fatalf("%v\n%s", err, block[1])
		}
		roles[role.Name] = role
	}
	return roles
}

// KubeconfigOf returns the kubeconfig of an account with the rights of a role.
func KubeconfigOf(t *testing.T, c *cluster.Cluster, user, ns string) string {
	t.Helper()
	Kubectl(t, c, "create", "rolebinding", user, "-n", ns, "--role=k8sconnect-"+user, "--user="+user)
	kubeconfig, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// Grant creates a role, and returns when the API server enforces it.
func Grant(t *testing.T, c *cluster.Cluster, role rbacv1.Role, ns, user string) {
	t.Helper()
	role.Namespace = ns
	if len(role.Rules[0].Verbs) == 0 {
		role.Rules[0].Verbs = []string{"deletecollection"} // a role needs one
	}
	role.APIVersion, role.Kind = "rbac.authorization.k8s.io/v1", "Role"
	text, err := yaml.Marshal(role)
	if err != nil {
		t.Fatal(err)
	}
	Kubectl(t, c, "apply", "--server-side", "--force-conflicts", "-f", File(t, string(text)))
	for _, right := range []string{"get", "list", "watch", "create", "patch", "delete"} {
		want := slices.Contains(role.Rules[0].Verbs, right)
		Until(t, user+" may "+right, func() bool {
			out, _ := KubectlCommand(t, c, "auth", "can-i", right, "configmaps", "-n", ns, "--as="+user).Output()
			return strings.TrimSpace(string(out)) == map[bool]string{true: "yes", false: "no"}[want]
		})
	}
}

// RoleOfRun has the roles that apply -o role has printed. A ClusterRole is a Role without namespace.
type RoleOfRun []rbacv1.Role

// RolesOf returns the roles in the output of apply -o role.
func RolesOf(t *testing.T, text string) RoleOfRun {
	t.Helper()
	var all RoleOfRun
	for document := range strings.SplitSeq(text, "---\n") {
		var role rbacv1.Role
		if strings.TrimSpace(document) == "" {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if (role.Kind == "ClusterRole") != (role.Namespace == "") || !strings.HasSuffix(role.Kind, "Role") {
			t.Fatalf("a %s in namespace %q", role.Kind, role.Namespace)
		}
		all = append(all, role)
	}
	return all
}

// Rules returns the position of each rule: its role and its place there.
func (roles RoleOfRun) Rules() (at [][2]int) {
	for i, role := range roles {
		for j := range role.Rules {
			at = append(at, [2]int{i, j})
		}
	}
	return at
}

// Account binds the roles to a new user, without one of their rules, and returns the kubeconfig of
// the user. A nil without leaves all rules.
func (roles RoleOfRun) Account(t *testing.T, c *cluster.Cluster, user string, without *[2]int) string {
	t.Helper()
	var texts []string
	var check []string
	for i, role := range roles {
		role = *role.DeepCopy()
		role.Name += "-" + user
		if without != nil && without[0] == i {
			role.Rules = slices.Delete(role.Rules, without[1], without[1]+1)
		}
		text, err := yaml.Marshal(role)
		if err != nil {
			t.Fatal(err)
		}
		binding := fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: %sBinding, metadata: {name: %s, namespace: %q},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %s, name: %s}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]}`,
			role.Kind, role.Name, role.Namespace, role.Kind, role.Name, user)
		texts = append(texts, string(text), binding)
		for _, rule := range role.Rules {
			target := rule.Resources[0] + "." + rule.APIGroups[0]
			if len(rule.ResourceNames) > 0 {
				target += "/" + rule.ResourceNames[0]
			}
			check = []string{rule.Verbs[0], target, "-n", role.Namespace}
		}
	}
	Kubectl(t, c, "apply", "--server-side", "-f", File(t, strings.Join(texts, "\n---\n")))
	Until(t, user+" may "+strings.Join(check, " "), func() bool {
		out, _ := KubectlCommand(t, c, append(append([]string{"auth", "can-i"}, check...), "--as="+user)...).Output()
		return strings.TrimSpace(string(out)) == "yes"
	})
	kubeconfig, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// Randomly returns a source that SEED determines.
func Randomly(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 53))
}
