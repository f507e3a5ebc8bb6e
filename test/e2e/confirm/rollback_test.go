package confirm_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// A confirmed rollback makes the changes that were shown, or none, whatever comes between. It cannot be
// repeated with the same digest.
func TestConfirmedRollback(t *testing.T) {
	t.Parallel()
	c := shared.Cluster(t)
	for name, tt := range map[string]struct {
		do mutation
		// ends is the status of the rollback, and says a part of its output.
		ends int
		says string
	}{
		"nothing":                    {mutation{}, 0, "1 pruned"},
		"a label":                    {mutation{kubectl: []string{"label configmap a team=shop"}}, 0, "1 pruned"},
		"a value":                    {mutation{kubectl: []string{`patch configmap a --field-manager=hotfix -p {"data":{"k":"9"}}`}}, 1, "does not match what is shown"},
		"an object of the set":       {mutation{kubectl: []string{"delete configmap a"}}, 1, "does not match what is shown"},
		"a new member made again":    {mutation{kubectl: []string{"delete configmap late", "apply --server-side --field-manager=k8sconnect -f APPLIED"}, applied: strings.Replace(member, "NAME", "late", 1)}, 1, "does not match what is shown"},
		"one more member":            {mutation{kubectl: []string{"apply --server-side --field-manager=k8sconnect -f APPLIED"}, applied: strings.Replace(member, "NAME", "later", 1)}, 1, "does not match what is shown"},
		"a claim of the new member":  {mutation{kubectl: []string{"annotate configmap late meta.helm.sh/release-name=web"}}, 1, "does not match what is shown"},
		"a claim of the Deployment":  {mutation{kubectl: []string{"annotate deployment web meta.helm.sh/release-name=web", "label deployment web applyset.kubernetes.io/part-of-"}}, 1, ""},
		"a run that changes nothing": {mutation{}, 0, "1 pruned"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := e2etest.Namespace(t, c)
			apply := func(text string) {
				t.Helper()
				e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "--apply-set=shop", "-f", e2etest.File(t, text)).Ends(t, 0)
			}
			second := inTwoPhases("2", "app:2") + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: late}}\n"
			apply(inTwoPhases("1", "app:1"))
			apply(second)
			shown := e2etest.Plugin(t, c.KubeconfigPath, "sets", "rollback", "shop", "-n", ns).Ends(t, 1)
			digest := regexp.MustCompile(`--confirm=v2-[0-9a-f.]+`).FindString(shown.Stderr.String())
			if digest == "" {
				t.Fatalf("no digest: %s", shown)
			}
			if name == "a run that changes nothing" {
				apply(second)
			}
			id := e2etest.Kubectl(t, c, "get", "configmap/a", "-n", ns, "-o", `jsonpath={.metadata.labels.applyset\.kubernetes\.io/part-of}`)
			tt.do.do(t, c, ns, id)
			was := stateOf(t, c, ns)
			r := e2etest.Plugin(t, c.KubeconfigPath, "sets", "rollback", "shop", "-n", ns, digest).Ends(t, tt.ends).Says(t, tt.says)
			if tt.ends == 0 {
				if got := written(t, c, ns); got != "1 app:1" {
					t.Errorf("the state is %s: %s", got, r)
				}
			} else if now := stateOf(t, c, ns); now != was {
				t.Errorf("the refused rollback has written:\n%s\nwas\n%s\n%s", now, was, r)
			}
			was = stateOf(t, c, ns)
			again := e2etest.Plugin(t, c.KubeconfigPath, "sets", "rollback", "shop", "-n", ns, digest)
			if code := again.Cmd.ProcessState.ExitCode(); code != 1 || stateOf(t, c, ns) != was {
				t.Errorf("the repeated rollback ends with %d: %s", code, again)
			}
		})
	}
}
