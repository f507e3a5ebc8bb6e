package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/e2etest"
)

// The answer always keeps the decision in a file: the next run asks only about the other field. The
// rest of the file stays as written, and one line reports what was written where.
func TestLiveAlways(t *testing.T) {
	c := shared.Cluster(t)
	const head = "# The shop's front.\n"
	start := func(t *testing.T) (ns, folder, set string) {
		t.Helper()
		ns, conflicting := inConflict(t, c)
		text, err := os.ReadFile(conflicting)
		if err != nil {
			t.Fatal(err)
		}
		folder = t.TempDir()
		set = filepath.Join(folder, "web.yaml")
		if err := os.WriteFile(set, []byte(head+strings.TrimPrefix(string(text), "\n")), 0o640); err != nil {
			t.Fatal(err)
		}
		return ns, folder, set
	}
	content := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	again := func(t *testing.T, ns, input string) {
		t.Helper()
		e2etest.Kubectl(t, c, "set", "image", "deployment/web", "-n", ns, "app=registry.example/app:second", "--field-manager=edit")
		e2etest.Kubectl(t, c, "scale", "deployment/web", "-n", ns, "--replicas=6")
		s := sit(t, c.KubeconfigPath, nil, "apply", "-n", ns, "-f", input)
		s.sees(t, "conflict: deployment.apps/web")
		s.sees(t, "app:second")
		s.sees(t, asks)
		s.types(t, "t\n")
		s.ends(t, 0)
		if got := webOf(t, c, ns); !strings.HasPrefix(got, "6 registry.example/app:3 ") || strings.Contains(s.shown(), "live   6") {
			t.Errorf("the Deployment is %s, want the replicas left without a prompt:\n%s", got, s.shown())
		}
	}
	t.Run("a new file", func(t *testing.T) {
		ns, folder, set := start(t)
		file := filepath.Join(folder, "k8sconnect.yaml")
		s := sit(t, c.KubeconfigPath, nil, "apply", "-n", ns, "-f", folder)
		s.sees(t, ".spec.replicas")
		s.sees(t, asks)
		s.types(t, "?\n")
		s.sees(t, "adds a rule to")
		s.sees(t, asks)
		s.types(t, "al\n")
		s.sees(t, asks)
		s.types(t, "t\n")
		s.sees(t, "always: "+file+":2:")
		s.sees(t, ".spec.replicas}")
		s.ends(t, 0)
		_, line, _ := strings.Cut(s.shown(), "always: ")
		line, _, _ = strings.Cut("always: "+line, "}")
		for row := range strings.Lines(line + "}") {
			if len(strings.TrimRight(row, "\n")) > columns {
				t.Errorf("the terminal breaks a word: %s", row)
			}
		}
		if shown := s.shown(); strings.Contains(shown, "--yield=") || !strings.Contains(shown, "--take=deployment.apps/web:") {
			t.Errorf("the printed command repeats the rule, or lacks the other answer:\n%s", shown)
		}
		if got := content(file); got != "yield:\n- {kind: Deployment.apps, name: web, path: .spec.replicas}\n" {
			t.Errorf("%s:\n%s", file, got)
		}
		if got := webOf(t, c, ns); !strings.HasPrefix(got, "5 registry.example/app:3 ") {
			t.Errorf("the Deployment is %s:\n%s", got, s.shown())
		}
		again(t, ns, set)
	})
	t.Run("the file in use", func(t *testing.T) {
		ns, _, set := start(t)
		file := filepath.Join(t.TempDir(), "rules.yaml")
		if err := os.WriteFile(file, []byte("yield:\n# theirs\n- {manager: hpa} # 1\n# end\n"), 0o640); err != nil {
			t.Fatal(err)
		}
		s := sit(t, c.KubeconfigPath, nil, "apply", "-n", ns, "-f", set, "--config", file)
		for range 2 {
			s.sees(t, asks)
			s.types(t, "always\n")
		}
		s.sees(t, "always: "+file+":4:")
		s.ends(t, 0)
		want := "yield:\n# theirs\n- {manager: hpa} # 1\n- {kind: Deployment.apps, name: web, path: [.spec.replicas, '.spec.template.spec.containers[name=\"app\"].image']}\n# end\n"
		if got := content(file); got != want {
			t.Errorf("%s:\n%s", file, got)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("the mode is %v, %v", info.Mode(), err)
		}
		e2etest.Plugin(t, c.KubeconfigPath, "apply", "-n", ns, "-f", set, "--config", file).Ends(t, 0)
	})
	t.Run("the manifest", func(t *testing.T) {
		ns, _, set := start(t)
		before := content(set)
		s := sit(t, c.KubeconfigPath, nil, "apply", "-n", ns, "-f", set)
		s.sees(t, asks)
		s.types(t, "am\n")
		s.sees(t, asks)
		s.types(t, "t\n")
		s.sees(t, "always: "+set+":4: k8sconnect.io/yield:")
		s.sees(t, "\".spec.replicas\"")
		s.ends(t, 0)
		want := strings.Replace(before, "{name: web}", "{name: web, annotations: {k8sconnect.io/yield: \".spec.replicas\"}}", 1)
		if got := content(set); got != want {
			t.Errorf("%s:\n%s", set, got)
		}
		again(t, ns, set)
	})
	t.Run("quit", func(t *testing.T) {
		ns, folder, set := start(t)
		before := content(set)
		s := sit(t, c.KubeconfigPath, nil, "apply", "-n", ns, "-f", set)
		for _, keys := range []string{"al\n", "q\n"} {
			s.sees(t, asks)
			s.types(t, keys)
		}
		s.ends(t, 1)
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 || content(set) != before || strings.Contains(s.shown(), "always: ") {
			t.Errorf("%v, %v\n%s", entries, err, s.shown())
		}
	})
	t.Run("a file that cannot be edited", func(t *testing.T) {
		ns, folder, set := start(t)
		const shared = "contexts:\n  nowhere: {yield: &a [{manager: b}]}\nyield: *a\n"
		file := filepath.Join(folder, "k8sconnect.yaml")
		if err := os.WriteFile(file, []byte(shared), 0o600); err != nil {
			t.Fatal(err)
		}
		s := sit(t, c.KubeconfigPath, nil, "apply", "-n", ns, "-f", set)
		s.sees(t, asks)
		s.types(t, "al\n")
		s.sees(t, asks)
		s.types(t, "t\n")
		s.sees(t, "always: not written: ")
		s.sees(t, "add this rule to yield: {kind: Deployment.apps, name: web, path: .spec.replicas}")
		s.sees(t, "--yield=deployment.apps/web:.spec.replicas")
		s.ends(t, 0)
		if got := content(file); got != shared {
			t.Errorf("%s:\n%s", file, got)
		}
	})
}
