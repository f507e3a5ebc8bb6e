package e2e_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// The roles in docs/rbac.md suffice for their verbs, and each of their rights is needed.
func TestRolesToCopy(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
	there := e2etest.File(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: there}, data: {a: b}}")
	fresh := func(name string) string {
		return e2etest.File(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: there}, data: {a: "+name+"}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}}")
	}
	e2etest.Kubectl(t, c, "create", "configmap", "going", "-n", ns)
	e2etest.Kubectl(t, c, "patch", "configmap", "going", "-n", ns, "-p", `{"metadata":{"finalizers":["example.com/held"]}}`)
	t.Cleanup(func() {
		_ = e2etest.KubectlCommand(t, c, "patch", "configmap", "going", "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`).Run()
	})
	e2etest.Kubectl(t, c, "delete", "configmap", "going", "-n", ns, "--wait=false")
	e2etest.Kubectl(t, c, "apply", "--server-side", "--field-manager=k8sconnect", "-n", ns, "-f", there)

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
	roles := e2etest.RolesToCopy(t, "../../docs/rbac.md")
	for verb, test := range verbs {
		t.Run(verb, func(t *testing.T) {
			role, ok := roles["k8sconnect-"+verb]
			if !ok {
				t.Fatal("docs/rbac.md has no role for this verb")
			}
			delete(roles, role.Name)
			kubeconfig := e2etest.KubeconfigOf(t, c, verb, ns)
			works := func() (bool, *e2etest.Run) {
				r := e2etest.Plugin(t, kubeconfig, append([]string{verb, "-n", ns, "--timeout=5s"}, test.args()...)...)
				message := r.Stdout.String() + r.Stderr.String()
				lacks := regexp.MustCompile(`is forbidden|User "` + verb + `" cannot|NotPermitted`).MatchString(message)
				return r.Cmd.ProcessState.ExitCode() == test.status && (verb == "stuck" || verb == "delete" || !lacks), r
			}
			e2etest.Grant(t, c, role, ns, verb)
			if ok, r := works(); !ok {
				t.Fatalf("the verb fails with the role in docs/rbac.md: %s", r)
			}
			for i, right := range role.Rules[0].Verbs[:circle.Of(1, len(role.Rules[0].Verbs), len(role.Rules[0].Verbs))] {
				less := role.DeepCopy()
				less.Rules[0].Verbs = slices.Delete(less.Rules[0].Verbs, i, i+1)
				e2etest.Grant(t, c, *less, ns, verb)
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

// The Tekton example's account can do what its task does, and is not the namespace's administrator.
func TestTektonRole(t *testing.T) {
	c := shared.Cluster(t)
	c.OwnOnly(t)
	ns := e2etest.Namespace(t, c)
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
			e2etest.Kubectl(t, c, "apply", "-f", e2etest.File(t, strings.ReplaceAll(document, "namespace: shop", "namespace: "+ns)))
		}
	}
	account := "system:serviceaccount:tekton-jobs:k8sconnect-apply"
	kubeconfig, err := c.KubeconfigFor(account)
	if err != nil {
		t.Fatal(err)
	}
	e2etest.Until(t, "the account may write", func() bool {
		out, _ := e2etest.KubectlCommand(t, c, "auth", "can-i", "patch", "deployments", "-n", ns, "--as="+account).Output()
		return strings.TrimSpace(string(out)) == "yes"
	})
	set := func(image string) string {
		return e2etest.File(t, `
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
		if text := e2etest.Plugin(t, c.KubeconfigPath, "diff", "-n", ns, "-f", manifests).Stdout.String(); text != "" {
			confirm = strings.TrimSpace(e2etest.After(text, "# confirm this with "))
		}
		args := []string{"apply", "-n", ns, "-f", manifests, "--wait", "--timeout=2m", "-o", "json"}
		if confirm != "" {
			args = append(args, confirm)
		}
		r := e2etest.Plugin(t, kubeconfig, args...).Ends(t, 0)
		for _, lacks := range []string{"forbidden", "cannot", "permission"} {
			if strings.Contains(r.Stdout.String()+r.Stderr.String(), lacks) {
				t.Errorf("output contains %q: %s", lacks, r)
			}
		}
	}
	for _, not := range []string{"get secrets", "create roles.rbac.authorization.k8s.io", "delete deployments", "create pods/exec"} {
		verb, resource, _ := strings.Cut(not, " ")
		out, _ := e2etest.KubectlCommand(t, c, "auth", "can-i", verb, resource, "-n", ns, "--as="+account).Output()
		if strings.TrimSpace(string(out)) != "no" {
			t.Errorf("the account may %s: %s", not, out)
		}
	}
}
