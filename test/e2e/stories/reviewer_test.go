package stories_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Story 6, the reviewer: a team applies only approved changes.
func TestReviewer(t *testing.T) {
	c := shared.Cluster(t)
	const namespace = "reviewed"
	kubectl(t, c, "", "create", "namespace", namespace)
	t.Cleanup(func() { // stories share a cluster: clean up
		_ = exec.Command(c.Binary("kubectl"), "--kubeconfig", c.KubeconfigPath, "delete", "namespace", namespace, "--wait=false").Run()
	})
	folder := t.TempDir()
	config := func(i int, mode string) {
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app-%02d}\ndata: {mode: %s}\n", i, mode)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("app-%02d.yaml", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const objects = 50
	for i := range objects {
		config(i, "fast")
	}
	set := func(verb string, more ...string) []string {
		return append([]string{verb, "-n", namespace, "-f", folder, "--apply-set=app", "--prune"}, more...)
	}
	mode := func(i int) string {
		return kubectl(t, c, "", "get", "configmap", fmt.Sprintf("app-%02d", i), "-n", namespace, "--ignore-not-found", "-o", "jsonpath={.data.mode}")
	}
	call(t, 0, c.KubeconfigPath, "", set("apply")...)

	// A pull request changes two of fifty objects and removes a third. The comment shows just these, and
	// is the same each time.
	config(7, "slow")
	config(9, "slow")
	if err := os.Remove(filepath.Join(folder, "app-11.yaml")); err != nil {
		t.Fatal(err)
	}
	comment := call(t, 1, c.KubeconfigPath, "", set("diff", "-o", "markdown")...).stdout.String()
	says(t, comment, "app-07", "app-09", "app-11")
	if lines := strings.Count(comment, "\n"); lines > 60 || strings.Contains(comment, "app-08") {
		t.Errorf("the comment on three of %d objects is %d lines:\n%s", objects, lines, comment)
	}
	if again := call(t, 1, c.KubeconfigPath, "", set("diff", "-o", "markdown")...).stdout.String(); again != comment {
		t.Errorf("the comment differs from one run to the next:\n%s\n%s", comment, again)
	}
	plan := filepath.Join(t.TempDir(), "plan.json")
	approve := func() {
		out := call(t, 1, c.KubeconfigPath, "", set("diff", "-o", "json")...).stdout.String()
		if err := os.WriteFile(plan, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	approve()

	// A colleague repairs the shop by hand before the job starts. The job writes nothing, not even the object
	// that is as it was, and says what is different now and who made it so.
	kubectl(t, c, "", "patch", "configmap", "app-07", "-n", namespace, "--field-manager=hotfix", "-p", `{"data": {"mode": "off"}}`)
	refused := call(t, 1, c.KubeconfigPath, "", set("apply", "--confirm="+plan)...).stderr.String()
	says(t, refused, "nothing was written", "configmap/app-07", "hotfix")
	if mode(7) != "off" || mode(9) != "fast" || mode(11) != "fast" {
		t.Errorf("a refused job wrote: %s, %s, %s", mode(7), mode(9), mode(11))
	}

	// Approved again, with the decision about the hotfix, the job does what was shown, and the prune too.
	call(t, 1, c.KubeconfigPath, "", set("diff", "--take=configmap/app-07:.data.mode")...)
	out := call(t, 1, c.KubeconfigPath, "", set("diff", "--take=configmap/app-07:.data.mode", "-o", "json")...).stdout.String()
	if err := os.WriteFile(plan, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	done := call(t, 0, c.KubeconfigPath, "", set("apply", "--take=configmap/app-07:.data.mode", "--confirm="+plan)...).stdout.String()
	says(t, done, "app-11", "2 configured", "47 unchanged", "1 pruned")
	if mode(7) != "slow" || mode(9) != "slow" || mode(11) != "" {
		t.Errorf("after the approved job: %s, %s, %q", mode(7), mode(9), mode(11))
	}
	// The job that runs twice has nothing left to do.
	again := call(t, 0, c.KubeconfigPath, "", set("apply", "--take=configmap/app-07:.data.mode", "--confirm="+plan)...)
	says(t, again.stderr.String(), "nothing is left to do")

	// A rollback is approved in the same way: with the digest that shows what it would do.
	rollback := []string{"sets", "rollback", "app", "-n", namespace}
	digest := func() string {
		shown := call(t, 1, c.KubeconfigPath, "", rollback...).stderr.String()
		_, found, _ := strings.Cut(shown, "--confirm=")
		words := strings.FieldsFunc(found, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
		if len(words) == 0 {
			t.Fatalf("no digest:\n%s", shown)
		}
		return words[0]
	}
	approved := digest()
	kubectl(t, c, "", "delete", "configmap", "app-13", "-n", namespace)
	says(t, call(t, 1, c.KubeconfigPath, "", append(rollback, "--confirm="+approved)...).stderr.String(), "nothing was done")
	if mode(11) != "" {
		t.Error("a refused rollback wrote")
	}
	call(t, 0, c.KubeconfigPath, "", append(rollback, "--confirm="+digest())...)
	if mode(7) != "fast" || mode(9) != "fast" || mode(11) != "fast" || mode(13) != "fast" {
		t.Errorf("after the rollback: %s, %s, %q, %q", mode(7), mode(9), mode(11), mode(13))
	}
}
