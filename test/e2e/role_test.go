package e2e_test

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

	"github.com/k8sconnect/kubectl-k8sconnect/test/circle"
	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
)

// roleOfRun has the roles that apply -o role has printed. A ClusterRole is a Role without namespace.
type roleOfRun []rbacv1.Role

func rolesOf(t *testing.T, text string) roleOfRun {
	t.Helper()
	var all roleOfRun
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

// rules returns the position of each rule: its role and its place there.
func (roles roleOfRun) rules() (at [][2]int) {
	for i, role := range roles {
		for j := range role.Rules {
			at = append(at, [2]int{i, j})
		}
	}
	return at
}

// account binds the roles to a new user, without one of their rules, and returns the kubeconfig of
// the user. A nil without leaves all rules.
func (roles roleOfRun) account(t *testing.T, c *cluster.Cluster, user string, without *[2]int) string {
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
	kubectl(t, c, "apply", "--server-side", "-f", file(t, strings.Join(texts, "\n---\n")))
	until(t, user+" may "+strings.Join(check, " "), func() bool {
		out, _ := kubectlCommand(t, c, append(append([]string{"auth", "can-i"}, check...), "--as="+user)...).Output()
		return strings.TrimSpace(string(out)) == "yes"
	})
	kubeconfig, err := c.KubeconfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

var lacksRight = regexp.MustCompile(`(?i)user "[^"]*" (cannot |\(groups=)|is not bound to (this|a) cluster`)

// randomly returns a source that SEED determines.
func randomly(t *testing.T) *rand.Rand {
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

// The roles that apply --dry-run=server -o role prints for a real set suffice for its diff and its
// apply, and each rule is needed.
func TestRoleOfRealSets(t *testing.T) {
	t.Parallel()
	if corpus() == "" {
		t.Skip("no corpus of real manifests here; CORPUS names its folder. TestRoleOfSet has a set of our own")
	}
	random := randomly(t)
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
				kubectl(t, c, "apply", "--server-side", "--force-conflicts", "-f", file(t, strings.Join(definitions, "\n---\n")))
				until(t, "the definitions are established", func() bool {
					return kubectlCommand(t, c, "wait", "--for=condition=Established", "crd", "--all").Run() == nil
				})
			}
			args := []string{"-f", file(t, strings.Join(text, "\n---\n")), "--skip-invalid"}
			dry := k8sconnect(t, c.KubeconfigPath, append([]string{"apply", "--dry-run=server", "-o", "role"}, args...)...)
			roles := rolesOf(t, dry.stdout.String())
			if len(roles.rules()) == 0 {
				t.Fatalf("no roles: %s", dry)
			}
			for _, role := range roles {
				if role.Namespace != "" {
					kubectl(t, c, "apply", "--server-side", "-f", file(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+role.Namespace+"}}"))
				}
			}
			kubeconfig := roles.account(t, c, fmt.Sprintf("whole-%d", n), nil)
			compared := k8sconnect(t, kubeconfig, append([]string{"diff"}, args...)...)
			at := roles.rules()
			if compared.cmd.ProcessState.ExitCode() == 2 {
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
				r := k8sconnect(t, roles.account(t, c, user, &rule), append([]string{"diff"}, args...)...)
				if !lacksRight.MatchString(r.stdout.String() + r.stderr.String()) {
					t.Errorf("diff works without the rule %+v: %s", roles[rule[0]].Rules[rule[1]], r)
				}
			}
			applied := k8sconnect(t, kubeconfig, append([]string{"apply", "--timeout=5m"}, args...)...)
			for _, r := range []*run{compared, applied} {
				if lacks := lacksRight.FindString(r.stdout.String() + r.stderr.String()); lacks != "" {
					t.Errorf("the role does not suffice (%s): %s", lacks, r)
				}
			}
			if want := dry.cmd.ProcessState.ExitCode(); applied.cmd.ProcessState.ExitCode() != want {
				t.Errorf("exit status of the apply: %d, of the dry run: %d: %s", applied.cmd.ProcessState.ExitCode(), want, applied)
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
	random := randomly(t)
	former := configMaps(3, 1, "1") + "\n---\n{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {k: \"1\"}}" +
		"\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]}"
	now := strings.NewReplacer(`k: "1"`, `k: "2"`, "verbs: [get]", "verbs: [list]").Replace(without(former, "cm-0002")) +
		"\n---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: b}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}}"
	run := func(t *testing.T, without func(roleOfRun) *[2]int) (complains bool, output string, count int) {
		ns := namespace(t, c)
		k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=shop", "-f", file(t, former)).ends(t, 0)
		kubectl(t, c, "delete", "events", "-n", ns, "--all")
		args := []string{"-n", ns, "--apply-set=shop", "--prune", "-f", file(t, now)}
		dry := k8sconnect(t, c.KubeconfigPath, append([]string{"apply", "--dry-run=server", "-o", "role"}, args...)...).ends(t, 0)
		roles := rolesOf(t, dry.stdout.String())
		kubectl(t, c, "delete", "leases", "-n", ns, "--all") // as after the deletion of the set
		kubeconfig := roles.account(t, c, ns, without(roles))
		plan := k8sconnect(t, kubeconfig, append([]string{"diff", "-o", "json"}, args...)...)
		planned := file(t, plan.stdout.String())
		applied := k8sconnect(t, kubeconfig, append([]string{"apply", "--confirm=" + planned}, args...)...)
		output = plan.String() + applied.String()
		events := kubectl(t, c, "get", "events", "-n", ns, "-o", "name")
		failed := plan.cmd.ProcessState.ExitCode() != 1 || applied.cmd.ProcessState.ExitCode() != 0
		return failed || events == "" || lacksRight.MatchString(output), output, len(roles.rules())
	}
	complains, output, count := run(t, func(roleOfRun) *[2]int { return nil })
	if complains {
		t.Fatalf("the role does not suffice: %s", output)
	}
	rules := random.Perm(count)
	for _, i := range rules[:circle.Of(3, count, count)] {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var lacking rbacv1.PolicyRule
			complains, output, _ := run(t, func(roles roleOfRun) *[2]int {
				at := roles.rules()[i]
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
	ns := namespace(t, c)
	deployment := "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 0, selector: {matchLabels: {app: APP}}, " +
		"template: {metadata: {labels: {app: APP}}, spec: {containers: [{name: a, image: registry.example/a:1}]}}}}"
	k8sconnect(t, c.KubeconfigPath, "apply", "-n", ns, "-f", file(t, strings.ReplaceAll(deployment, "APP", "one"))).ends(t, 0)
	args := []string{"-n", ns, "-f", file(t, strings.ReplaceAll(deployment, "APP", "two"))}
	dry := k8sconnect(t, c.KubeconfigPath, append([]string{"apply", "--dry-run=server", "-o", "role"}, args...)...)
	kubeconfig := rolesOf(t, dry.stdout.String()).account(t, c, ns, nil)
	applied := k8sconnect(t, kubeconfig, append([]string{"apply"}, args...)...).ends(t, 1)
	applied.says(t, "it is unknown whether --recreate would help: to check it needs the right to patch an object of any name")
	k8sconnect(t, c.KubeconfigPath, append([]string{"apply"}, args...)...).ends(t, 1).says(t, "--recreate=deployment.apps/web")
}
