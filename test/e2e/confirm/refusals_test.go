package confirm_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/cluster"
	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// inTwoPhases is a set whose Deployment is applied after its ConfigMap.
func inTwoPhases(value, image string) string {
	return `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "` + value + `"}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "` + image + `"}]}}}}
`
}

func written(t *testing.T, c *cluster.Cluster, ns string) string {
	t.Helper()
	return e2etest.Kubectl(t, c, "get", "configmap/a", "deployment/web", "-n", ns, "-o", "jsonpath={.items[*].data.k} {.items[*].spec.template.spec.containers[0].image}")
}

// If another owner claims an object of a later phase, a plain apply writes the phases before it. A confirmed
// run writes nothing, unless it is to continue. This holds for --others=refuse, for k8sconnect.yaml, which may
// come between, and for sets.
func TestConfirmedClaims(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	for name, flags := range map[string][2][]string{
		"refused in both":            {{"--others=refuse"}, {"--others=refuse"}},
		"refused by apply":           {nil, {"--others=refuse"}},
		"refused by k8sconnect.yaml": {nil, {"--config=FILE"}},
		"in a set":                   {{"--apply-set=shop"}, {"--apply-set=shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := e2etest.Namespace(t, c)
			config := filepath.Join(t.TempDir(), "k8sconnect.yaml")
			if err := os.WriteFile(config, []byte("others: refuse\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			with := func(i int, args ...string) []string {
				for _, flag := range flags[i] {
					args = append(args, strings.Replace(flag, "FILE", config, 1))
				}
				return args
			}
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", e2etest.File(t, inTwoPhases("1", "app:1"))).Ends(t, 0)
			input := e2etest.File(t, inTwoPhases("2", "app:2"))
			plan := e2etest.Confirmable(t, c, with(0, "-n", ns, "-f", input)...)
			e2etest.Kubectl(t, c, "annotate", "deployment/web", "-n", ns, "meta.helm.sh/release-name=web", "meta.helm.sh/release-namespace="+ns)
			e2etest.Kubectl(t, c, "label", "deployment/web", "-n", ns, "--overwrite", "app.kubernetes.io/managed-by=Helm")
			confirm := with(1, "apply", "-n", ns, "-f", input, "--confirm="+plan)
			e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 1).
				Says(t, "nothing was written: apply would stop halfway, at 1 object of other owners").Says(t, "it belongs to Helm release")
			if got := written(t, c, ns); got != "1 app:1" {
				t.Errorf("the refused run has written: %s", got)
			}
			e2etest.Plugin(t, c.KubeconfigPath, append(confirm, "--continue-on-conflict")...).Ends(t, 1).Says(t, "it belongs to Helm release")
			if got := written(t, c, ns); got != "2 app:1" {
				t.Errorf("the other object was not written: %s", got)
			}
			e2etest.Kubectl(t, c, "annotate", "deployment/web", "-n", ns, "meta.helm.sh/release-name-", "meta.helm.sh/release-namespace-")
			e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "continuing the plan: 1 of 2 objects already as reviewed")
			e2etest.Plugin(t, c.KubeconfigPath, confirm...).Ends(t, 0).Says(t, "nothing is left to do")
		})
	}
}

// If the account, or an admission policy, does not allow a reviewed deletion, nothing is written before it.
func TestConfirmedDeletionsAreAllowed(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	c.OwnOnly(t)
	const frozen = "---\n" + `{apiVersion: v1, kind: ConfigMap, metadata: {name: r}, immutable: true, data: {k: "VALUE"}}` + "\n"
	for name, tt := range map[string]struct{ before, after, flag string }{
		"a prune":      {pruneBefore, pruneAfter, "--prune"},
		"a recreation": {pruneAfter + strings.Replace(frozen, "VALUE", "1", 1), strings.Replace(pruneAfter, `"2"`, `"3"`, 1) + strings.Replace(frozen, "VALUE", "2", 1), "--recreate=configmap"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := e2etest.Namespace(t, c)
			e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=shop", "-f", e2etest.File(t, tt.before)).Ends(t, 0)
			set := []string{"-n", ns, "--apply-set=shop", tt.flag, "-f", e2etest.File(t, tt.after)}
			roles := e2etest.RolesOf(t, e2etest.Plugin(t, c.KubeconfigPath, append([]string{"apply", "--dry-run=server", "-o", "role"}, set...)...).Ends(t, 0).Stdout.String())
			allowed := roles.Account(t, c, ns+"-all", nil)
			found := false
			for _, role := range roles {
				for i, rule := range role.Rules {
					if rule.Resources[0] == "configmaps" && slices.Contains(rule.Verbs, "delete") {
						role.Rules[i].Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return verb == "delete" })
						found = true
					}
				}
			}
			if !found {
				t.Fatalf("no right to delete in %v", roles)
			}
			kubeconfig := roles.Account(t, c, ns, nil)
			confirm := append([]string{"apply", "--confirm=" + e2etest.Confirmable(t, c, set...)}, set...)
			state := func() string {
				return e2etest.Kubectl(t, c, "get", "configmap", "-n", ns, "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
			}
			was := state()
			e2etest.Plugin(t, kubeconfig, confirm...).Ends(t, 2).Says(t, "nothing was written: the server refuses to delete 1 object").Says(t, "forbidden")
			if now := state(); now != was {
				t.Errorf("the refused run has written:\n%s\nwas\n%s", now, was)
			}
			// The printed roles suffice.
			e2etest.Plugin(t, allowed, confirm...).Ends(t, 0)
			e2etest.Plugin(t, allowed, confirm...).Ends(t, 0).Says(t, "nothing is left to do")
		})
	}
}
