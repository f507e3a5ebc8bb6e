// Package workflows tests aspects of the workflow files that actionlint does not check:
// permissions, and that their commands exist.
package workflows

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

type workflow struct {
	Permissions *map[string]string
	Jobs        map[string]job
}

type job struct {
	Permissions map[string]string
	Uses        string
	Strategy    struct {
		Matrix map[string][]string
	}
	Steps []struct {
		ID   string
		Uses string
		Run  string
		With map[string]any
	}
}

func read(t *testing.T) map[string]workflow {
	t.Helper()
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal("no workflows: ", err)
	}
	all := map[string]workflow{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(content, &w); err != nil {
			t.Fatal(file, err)
		}
		all[filepath.Base(file)] = w
	}
	return all
}

// An action's tag can be moved to other code; a commit cannot.
func TestActionsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`^uses: [a-z-]+/[a-z-]+(/[a-z-]+)?@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	ours := regexp.MustCompile(`^uses: \./\.github/workflows/[a-z]+\.yml$`)
	for name := range read(t) {
		content, err := os.ReadFile(filepath.Join("../../.github/workflows", name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
			if strings.HasPrefix(line, "uses:") && !pinned.MatchString(line) && !ours.MatchString(line) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// Each job has only the permissions that it needs.
func TestPermissions(t *testing.T) {
	got := map[string]map[string]string{}
	for name, w := range read(t) {
		if w.Permissions == nil || len(*w.Permissions) > 0 {
			t.Errorf("%s: the workflow has to set empty permissions, got %v", name, w.Permissions)
		}
		for id, j := range w.Jobs {
			got[name+"/"+id] = j.Permissions
			for _, step := range j.Steps {
				if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
					t.Errorf("%s/%s: the checkout keeps its token for later steps", name, id)
				}
			}
		}
	}
	read := map[string]string{"contents": "read"}
	want := map[string]map[string]string{
		"ci.yml/check":             read,
		"kubernetes.yml/test":      read,
		"nightly.yml/test":         read,
		"pages.yml/test":           read,
		"security.yml/govulncheck": read,
		"security.yml/codeql":      {"contents": "read", "security-events": "write"},
		"scorecard.yml/analysis":   {"contents": "read", "actions": "read", "security-events": "write", "id-token": "write"},
		"release.yml/check":        read,
		"release.yml/full":         read,
		"release.yml/release":      {"contents": "write", "packages": "write", "id-token": "write", "attestations": "write"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// CI runs the same checks as developers, and a release has passed all tests.
func TestReleaseRunsChecksOfCI(t *testing.T) {
	all := read(t)
	for workflow, want := range map[string]string{"ci.yml/check": ".ci/run", "nightly.yml/test": "make test-full"} {
		name, id, _ := strings.Cut(workflow, "/")
		var runs []string
		for _, step := range all[name].Jobs[id].Steps {
			if step.Run != "" {
				runs = append(runs, strings.TrimSpace(step.Run))
			}
		}
		if diff := cmp.Diff([]string{want}, runs); diff != "" {
			t.Error(workflow, diff)
		}
	}
	if info, err := os.Stat("../../.ci/run"); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf(".ci/run: %v, %v", info, err)
	}
	for id, want := range map[string]string{"check": "ci.yml", "full": "nightly.yml"} {
		if uses := all["release.yml"].Jobs[id].Uses; uses != "./.github/workflows/"+want {
			t.Errorf("a release is checked by %q, want %s", uses, want)
		}
	}
}

// Each Kubernetes minor version with a module is in the matrix, and in the table of versions.
func TestMinorsAreTestedAndDocumented(t *testing.T) {
	files, err := filepath.Glob("../cluster/tools/1.*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var minors []string
	for _, file := range files {
		minors = append(minors, filepath.Base(filepath.Dir(file)))
	}
	if diff := cmp.Diff(minors, read(t)["kubernetes.yml"].Jobs["test"].Strategy.Matrix["minor"]); diff != "" {
		t.Errorf("modules and the matrix differ (-modules +matrix):\n%s", diff)
	}
	page, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	var reported []string
	for _, row := range regexp.MustCompile(`(?m)^\| (1\.\d+) \| .*make test-minor`).FindAllStringSubmatch(string(page), -1) {
		reported = append(reported, row[1])
	}
	slices.Sort(reported)
	if diff := cmp.Diff(minors, reported); diff != "" {
		t.Errorf("modules and docs/install.md differ (-modules +page):\n%s", diff)
	}
}

// The pushed images are the signed ones: the digests come from the tools' output.
func TestPushedImagesAreSigned(t *testing.T) {
	dir, outputs := t.TempDir(), filepath.Join(t.TempDir(), "outputs")
	for path, prints := range map[string]string{
		"make":     "ghcr.io/webhook-fans/kubectl-k8sconnect:1.2.3@sha256:aa\nghcr.io/webhook-fans/webhook:1.2.3@sha256:bb",
		"bin/helm": "Pushed: ghcr.io/webhook-fans/charts/k8sconnect:1.2.3\nDigest: sha256:cc",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\ncat <<'END'\n"+prints+"\nEND\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var script string
	for _, step := range read(t)["release.yml"].Jobs["release"].Steps {
		if step.ID == "push" {
			script = step.Run
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", script) // like GitHub
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "GITHUB_OUTPUT="+outputs, "REGISTRY=ghcr.io/webhook-fans")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(outputs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("plugin=sha256:aa\nwebhook=sha256:bb\nchart=sha256:cc\n", string(got)); diff != "" {
		t.Error(diff)
	}
}

// Otherwise only the next release would reveal that a target was renamed.
func TestMakeTargetsExist(t *testing.T) {
	called := regexp.MustCompile(`(?m)^\s*make ([^|&\n]+)`)
	targets := map[string]bool{}
	for _, w := range read(t) {
		for _, j := range w.Jobs {
			for _, step := range j.Steps {
				for _, call := range called.FindAllStringSubmatch(step.Run, -1) {
					for word := range strings.FieldsSeq(call[1]) {
						if !strings.Contains(word, "=") && !strings.HasPrefix(word, "-") {
							targets[word] = true
						}
					}
				}
			}
		}
	}
	if len(targets) < 3 {
		t.Errorf("found %v", targets)
	}
	for _, target := range slices.Sorted(maps.Keys(targets)) {
		cmd := exec.CommandContext(t.Context(), "make", "-C", "../..", "--dry-run", "--silent", target)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("make %s: %v\n%s", target, err, out)
		}
	}
}

// go test passes if -run matches no test, so a renamed test would no longer run.
func TestMakeRunsExistingTests(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`(?m)^.* -run '?([^' \n]+).*$`).FindAllStringSubmatch(string(makefile), -1)
	packages, tests := regexp.MustCompile(` \./(\S+)`), regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	found := 0
	for _, call := range calls {
		var names []string
		for _, p := range packages.FindAllStringSubmatch(call[0], -1) {
			files, err := filepath.Glob("../../" + p[1] + "/*_test.go")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range tests.FindAllStringSubmatch(string(text), -1) {
					names = append(names, m[1])
				}
			}
		}
		for pattern := range strings.SplitSeq(strings.ReplaceAll(call[1], "$$", "$"), "|") {
			if pattern == "^$" { // no tests, only fuzz targets
				continue
			}
			found++
			if !slices.ContainsFunc(names, regexp.MustCompile(pattern).MatchString) {
				t.Errorf("-run %s matches no test: %s", pattern, call[0])
			}
		}
	}
	if found < 8 {
		t.Errorf("found %d names of tests, want at least 8", found)
	}
}

// The steps of action/action.yml are valid as those of a workflow: actionlint does not read actions.
// Their scripts take inputs only from variables, because an expression in a script runs what a user
// wrote.
func TestActionSteps(t *testing.T) {
	content, err := os.ReadFile("../../action/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var action struct {
		Inputs map[string]any
		Runs   struct{ Steps []map[string]any }
	}
	if err := yaml.Unmarshal(content, &action); err != nil {
		t.Fatal(err)
	}
	inputs := map[string]any{}
	for name := range action.Inputs {
		inputs[name] = map[string]any{"type": "string"}
	}
	for _, step := range action.Runs.Steps {
		if script, _ := step["run"].(string); strings.Contains(script, "${{") {
			t.Errorf("%v: an expression in a script:\n%s", step["name"], script)
		}
	}
	program, err := filepath.Abs("../../bin/actionlint")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("bin/actionlint is missing: make bin/actionlint")
	}
	workflow, err := yaml.Marshal(map[string]any{
		"on":   map[string]any{"workflow_call": map[string]any{"inputs": inputs}},
		"jobs": map[string]any{"action": map[string]any{"runs-on": "ubuntu-latest", "steps": action.Runs.Steps}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "action.yml")
	if err := os.WriteFile(file, workflow, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, linted := range []string{file, "../../docs/examples/ci/github.yaml", "../../docs/examples/many-clusters/github.yaml"} {
		cmd := exec.CommandContext(t.Context(), program, "-shellcheck=", "-pyflakes=", linted)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
