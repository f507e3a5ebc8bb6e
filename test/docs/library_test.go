package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/docs"
)

// docs/library.md shows the programs and files of test/library unchanged, with the programs'
// output. The tests of that module also run here, because go test ./... skips it.
func TestLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a separate module, as a user's machine would")
	}
	module := filepath.Join(root(t), "test", "library")
	bin := t.TempDir()
	inside := func(name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = module
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s\nwhere go.mod is stale: make tidy", name, strings.Join(args, " "), err, out)
		}
	}
	inside("go", "build", "-o", bin+string(filepath.Separator), "./...")
	inside("go", "test", "./...")

	text, err := os.ReadFile(filepath.Join(root(t), "docs", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := docs.Parse("docs/library.md", string(text))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[docs.Kind]int{}
	for _, b := range page.Blocks {
		block := page.Text(b)
		where := filepath.Join(module, "testdata", b.Name)
		switch {
		case b.Kind == docs.NotRun && strings.HasPrefix(b.Name, "TestLibrary "):
			runPrograms(t, block, bin, filepath.Join(module, "testdata"))
			shown[b.Kind]++
			continue
		case b.Kind == docs.Data && strings.HasPrefix(block, "// Command "):
			name, _, _ := strings.Cut(strings.TrimPrefix(block, "// Command "), " ")
			where = filepath.Join(module, name, "main.go")
		case b.Kind != docs.File:
			continue
		}
		shown[b.Kind]++
		if source, err := os.ReadFile(where); err != nil || strings.TrimSuffix(string(source), "\n") != block {
			t.Errorf("docs/library.md:%d differs from %s (%v)", b.First+1, where, err)
		}
	}
	if shown[docs.Data] != 3 || shown[docs.File] != 3 || shown[docs.NotRun] != 4 {
		t.Errorf("shown: %v", shown)
	}
}

// runPrograms runs a block's commands and compares their output.
func runPrograms(t *testing.T, block, bin, dir string) {
	t.Helper()
	steps, err := docs.Steps(block)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", step.Command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil || !slices.Equal(got, step.Shown) {
			t.Errorf("$ %s\nprints (%v)\n%s\ndocs/library.md says\n%s", step.Command, err, out, strings.Join(step.Shown, "\n"))
		}
	}
}
