package e2e_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// The roles in docs/rbac.md suffice for their verbs, and each of their rights is needed.
func TestRolesToCopy(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := namespace(t, c)
	there := file(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: there}, data: {a: b}}")
	fresh := func(name string) string {
		return file(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: there}, data: {a: "+name+"}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}")
	}
	kubectl(t, c, "create", "configmap", "going", "-n", ns)
	kubectl(t, c, "patch", "configmap", "going", "-n", ns, "-p", `{"metadata":{"finalizers":["example.com/held"]}}`)
	t.Cleanup(func() {
		_ = kubectlCommand(t, c, "patch", "configmap", "going", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`).Run()
	})
	kubectl(t, c, "delete", "configmap", "going", "-n", ns, "--wait=false")
	kubectl(t, c, "apply", "--server-side", "--field-manager=k8sconnect", "-n", ns, "-f", there)

	runs := 0
	verbs := map[string]struct {
		args   func() []string
		status int
	}{
		"diff":  {func() []string { return []string{"-f", fresh("more")} }, 1},
		"apply": {func() []string { runs++; return []string{"-f", fresh("more-" + string(rune('a'+runs)))} }, 0},
		"wait":  {func() []string { return []string{"cm/there", "--for=jsonpath={.data.a}"} }, 0},
		// A finalizer keeps it: for an object that is removed at once, the response suffices.
		"delete": {func() []string { return []string{"cm/going"} }, 1},
		"stuck":  {func() []string { return []string{"cm/going"} }, 1},
		"owners": {func() []string { return []string{"cm/going"} }, 0},
	}
	roles := rolesToCopy(t)
	for verb, test := range verbs {
		t.Run(verb, func(t *testing.T) {
			role, ok := roles["k8sconnect-"+verb]
			if !ok {
				t.Fatal("docs/rbac.md has no role for this verb")
			}
			delete(roles, role.Name)
			kubeconfig := as(t, c, verb, ns)
			works := func() (bool, *run) {
				r := k8sconnect(t, kubeconfig, append([]string{verb, "-n", ns, "--timeout=5s"}, test.args()...)...)
				message := r.stdout.String() + r.stderr.String()
				lacks := regexp.MustCompile(`is forbidden|User "` + verb + `" cannot|NotPermitted`).MatchString(message)
				return r.cmd.ProcessState.ExitCode() == test.status && (verb == "stuck" || verb == "delete" || !lacks), r
			}
			grant(t, c, role, ns, verb)
			if ok, r := works(); !ok {
				t.Fatalf("the verb fails with the role in docs/rbac.md: %s", r)
			}
			for i, right := range role.Rules[0].Verbs[:circle.Of(1, len(role.Rules[0].Verbs), len(role.Rules[0].Verbs))] {
				less := role.DeepCopy()
				less.Rules[0].Verbs = slices.Delete(less.Rules[0].Verbs, i, i+1)
				grant(t, c, *less, ns, verb)
				if ok, r := works(); ok {
					t.Errorf("the verb also works without the right to %s: %s", right, r)
				}
			}
		})
	}
	for _, tested := range []string{"k8sconnect-sets", "k8sconnect-set-parents"} { // in setrights_test.go
		delete(roles, tested)
	}
	for name := range roles {
		t.Errorf("docs/rbac.md has the role %s, which belongs to no verb", name)
	}
}

// rolesToCopy returns the page's roles by name.
func rolesToCopy(t *testing.T) map[string]rbacv1.Role {
	t.Helper()
	page, err := os.ReadFile("../../docs/rbac.md")
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

// as returns the kubeconfig of an account with the rights of a role.
func as(t *testing.T, c *cluster.Cluster, user, ns string) string {
	t.Helper()
	kubectl(t, c, "create", "rolebinding", user, "-n", ns, "--role=k8sconnect-"+user, "--user="+user)
	kubeconfig, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// grant creates a role, and returns when the API server enforces it.
func grant(t *testing.T, c *cluster.Cluster, role rbacv1.Role, ns, user string) {
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
	kubectl(t, c, "apply", "--server-side", "--force-conflicts", "-f", file(t, string(text)))
	for _, right := range []string{"get", "list", "watch", "create", "patch", "delete"} {
		want := slices.Contains(role.Rules[0].Verbs, right)
		until(t, user+" may "+right, func() bool {
			out, _ := kubectlCommand(t, c, "auth", "can-i", right, "configmaps", "-n", ns, "--as="+user).Output()
			return strings.TrimSpace(string(out)) == map[bool]string{true: "yes", false: "no"}[want]
		})
	}
}

// The Tekton example's account can do what its task does, and is not the namespace's administrator.
func TestTektonRole(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := namespace(t, c)
	text, err := os.ReadFile("../../docs/examples/ci/tekton.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(kind.Kind, "Role") || strings.HasSuffix(kind.Kind, "RoleBinding") {
			kubectl(t, c, "apply", "-f", file(t, strings.ReplaceAll(document, "namespace: shop", "namespace: "+ns)))
		}
	}
	account := "system:serviceaccount:tekton-jobs:k8sconnect-apply"
	kubeconfig, err := c.KubeconfigFor(account)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the account may write", func() bool {
		out, _ := kubectlCommand(t, c, "auth", "can-i", "patch", "deployments", "-n", ns, "--as="+account).Output()
		return strings.TrimSpace(string(out)) == "yes"
	})
	set := func(image string) string {
		return file(t, `
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "`+image+`"}]}`)
	}
	for range 2 {
		manifests := set("app:1")
		confirm := ""
		if text := k8sconnect(t, c.KubeconfigPath, "diff", "-n", ns, "-f", manifests).stdout.String(); text != "" {
			confirm = strings.TrimSpace(after(text, "# confirm this with "))
		}
		args := []string{"apply", "-n", ns, "-f", manifests, "--wait", "--timeout=2m", "-o", "json"}
		if confirm != "" {
			args = append(args, confirm)
		}
		r := k8sconnect(t, kubeconfig, args...).ends(t, 0)
		for _, lacks := range []string{"forbidden", "cannot", "permission"} {
			if strings.Contains(r.stdout.String()+r.stderr.String(), lacks) {
				t.Errorf("output contains %q: %s", lacks, r)
			}
		}
	}
	for _, not := range []string{"get secrets", "create roles.rbac.authorization.k8s.io", "delete deployments", "create pods/exec"} {
		verb, resource, _ := strings.Cut(not, " ")
		out, _ := kubectlCommand(t, c, "auth", "can-i", verb, resource, "-n", ns, "--as="+account).Output()
		if strings.TrimSpace(string(out)) != "no" {
			t.Errorf("the account may %s: %s", not, out)
		}
	}
}
