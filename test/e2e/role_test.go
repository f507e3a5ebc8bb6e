package e2e_test

import (
	"fmt"
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

var lacksRight = regexp.MustCompile(`(?i)user "[^"]*" (cannot |\(groups=)|is not bound to (this|a) cluster`)

// The roles that apply --dry-run=server -o role prints for a real set suffice for its diff and its
// apply, and each rule is needed.
func TestRoleOfRealSets(t *testing.T) {
	t.Parallel()
	if corpus() == "" {
		t.Skip("no corpus of real manifests here; CORPUS names its folder. TestRoleOfSet has a set of our own")
	}
	random := e2etest.Randomly(t)
	sets := readCorpus(t)
	random.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
	c := cluster.ForTest(t, cluster.Options{})
	for n, set := range sets[:circle.Of(2, len(sets), len(sets))] {
		t.Run(set.name, func(t *testing.T) {
			var text, definitions []string
			for _, u := range set.objects {
				if strings.HasPrefix(u.GetAPIVersion(), "admissionregistration.k8s.io/") || u.GetKind() == "APIService" {
					continue // It would affect the other sets.
				}
				one, err := yaml.Marshal(u.Object)
				if err != nil {
					t.Fatal(err)
				}
				text = append(text, string(one))
				if u.GetAPIVersion() == "apiextensions.k8s.io/v1" && u.GetKind() == "CustomResourceDefinition" {
					definitions = append(definitions, string(one))
				}
			}
			if len(definitions) > 0 { // A diff checks no objects of kinds that are not served yet.
				e2etest.Kubectl(t, c, "apply", "--server-side", "--force-conflicts", "-f", e2etest.File(t, strings.Join(definitions, "\n---\n")))
				e2etest.Until(t, "the definitions are established", func() bool {
					return e2etest.KubectlCommand(t, c, "wait", "--for=condition=Established", "crd", "--all").Run() == nil
				})
			}
			args := []string{"-f", e2etest.File(t, strings.Join(text, "\n---\n")), "--skip-invalid"}
			dry := e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--dry-run=server", "-o", "role"}, args...)...)
			roles := e2etest.RolesOf(t, dry.Stdout.String())
			if len(roles.Rules()) == 0 {
				t.Fatalf("no roles: %s", dry)
			}
			for _, role := range roles {
				if role.Namespace != "" {
					e2etest.Kubectl(t, c, "apply", "--server-side", "-f", e2etest.File(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+role.Namespace+"}}"))
				}
			}
			kubeconfig := roles.Account(t, c, fmt.Sprintf("whole-%d", n), nil)
			compared := e2etest.Plugin(t, kubeconfig, append([]string{"diff"}, args...)...)
			at := roles.Rules()
			if compared.Cmd.ProcessState.ExitCode() == 2 {
				// Kinds that the cluster does not serve are unknown, and a diff with unknowns has no plan that
				// would be bound to the cluster.
				at = slices.DeleteFunc(at, func(rule [2]int) bool {
					return slices.Contains(roles[rule[0]].Rules[rule[1]].ResourceNames, "kube-system")
				})
			}
			// A binding needs the right to bind only once its role exists, which the set may create.
			at = slices.DeleteFunc(at, func(rule [2]int) bool { return slices.Contains(roles[rule[0]].Rules[rule[1]].Verbs, "bind") })
			random.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
			for i, rule := range at[:min(len(at), circle.Of(3, len(at), len(at)))] {
				user := fmt.Sprintf("lacking-%d-%d", n, i)
				r := e2etest.Plugin(t, roles.Account(t, c, user, &rule), append([]string{"diff"}, args...)...)
				if !lacksRight.MatchString(r.Stdout.String() + r.Stderr.String()) {
					t.Errorf("diff works without the rule %+v: %s", roles[rule[0]].Rules[rule[1]], r)
				}
			}
			applied := e2etest.Plugin(t, kubeconfig, append([]string{"apply", "--timeout=5m"}, args...)...)
			for _, r := range []*e2etest.Run{compared, applied} {
				if lacks := lacksRight.FindString(r.Stdout.String() + r.Stderr.String()); lacks != "" {
					t.Errorf("the role does not suffice (%s): %s", lacks, r)
				}
			}
			if want := dry.Cmd.ProcessState.ExitCode(); applied.Cmd.ProcessState.ExitCode() != want {
				t.Errorf("exit status of the apply: %d, of the dry run: %d: %s", applied.Cmd.ProcessState.ExitCode(), want, applied)
			}
			t.Logf("%d objects, %d roles, %d rules", len(text), len(roles), len(at))
		})
	}
}

// The roles of a run with a set suffice for a plan and its apply, with a prune and a history. Each
// rule is needed: without it, the run fails, complains, or creates no Event.
func TestRoleOfSet(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	c.OwnOnly(t)
	random := e2etest.Randomly(t)
	former := e2etest.ConfigMaps(3, 1, "1") + "\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: \"1\"}}" +
		"\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]}"
	now := strings.NewReplacer(`k: "1"`, `k: "2"`, "verbs: [get]", "verbs: [list]").Replace(e2etest.Without(former, "cm-0002")) +
		"\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}}"
	run := func(t *testing.T, without func(e2etest.RoleOfRun) *[2]int) (complains bool, output string, count int) {
		ns := e2etest.Namespace(t, c)
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=shop", "-f", e2etest.File(t, former)).Ends(t, 0)
		e2etest.Kubectl(t, c, "delete", "events", "-n", ns, "--all")
		args := []string{"-n", ns, "--apply-set=shop", "--prune", "-f", e2etest.File(t, now)}
		dry := e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--dry-run=server", "-o", "role"}, args...)...).Ends(t, 0)
		roles := e2etest.RolesOf(t, dry.Stdout.String())
		e2etest.Kubectl(t, c, "delete", "leases", "-n", ns, "--all") // as after the deletion of the set
		kubeconfig := roles.Account(t, c, ns, without(roles))
		plan := e2etest.Plugin(t, kubeconfig, append([]string{"diff", "-o", "json"}, args...)...)
		planned := e2etest.File(t, plan.Stdout.String())
		applied := e2etest.Plugin(t, kubeconfig, append([]string{"apply", "--confirm=" + planned}, args...)...)
		output = plan.String() + applied.String()
		events := e2etest.Kubectl(t, c, "get", "events", "-n", ns, "-o", "name")
		failed := plan.Cmd.ProcessState.ExitCode() != 1 || applied.Cmd.ProcessState.ExitCode() != 0
		return failed || events == "" || lacksRight.MatchString(output), output, len(roles.Rules())
	}
	complains, output, count := run(t, func(e2etest.RoleOfRun) *[2]int { return nil })
	if complains {
		t.Fatalf("the role does not suffice: %s", output)
	}
	rules := random.Perm(count)
	for _, i := range rules[:circle.Of(3, count, count)] {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var lacking rbacv1.PolicyRule
			complains, output, _ := run(t, func(roles e2etest.RoleOfRun) *[2]int {
				at := roles.Rules()[i]
				lacking = roles[at[0]].Rules[at[1]]
				return &at
			})
			if !complains {
				t.Errorf("the run works without the rule %+v: %s", lacking, output)
			}
		})
	}
}

// With the roles of a run, the dry run as a new object is refused, because it needs a name of its own.
// That is no fact about the manifest.
func TestRoleOfImmutableField(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	ns := e2etest.Namespace(t, c)
	deployment := "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 0, selector: {matchLabels: {app: APP}}, " +
		"template: {metadata: {labels: {app: APP}}, spec: {containers: [{name: a, image: registry.example/a:1}]}}}}"
	e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, strings.ReplaceAll(deployment, "APP", "one"))).Ends(t, 0)
	args := []string{"-n", ns, "-f", e2etest.File(t, strings.ReplaceAll(deployment, "APP", "two"))}
	dry := e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--dry-run=server", "-o", "role"}, args...)...)
	kubeconfig := e2etest.RolesOf(t, dry.Stdout.String()).Account(t, c, ns, nil)
	applied := e2etest.Plugin(t, kubeconfig, append([]string{"apply"}, args...)...).Ends(t, 1)
	applied.Says(t, "it is unknown whether --recreate would help: to check it needs the right to patch an object of any name")
	e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply"}, args...)...).Ends(t, 1).Says(t, "--recreate=deployment.apps/web")
}
