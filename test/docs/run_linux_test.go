package docs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/test/docs"
)

// read runs a page that needs no cluster.
func read(t *testing.T, update bool, lines ...string) (page *docs.Page, count docs.Count, faults []string, dir string) {
	t.Helper()
	page, err := docs.Parse("page.md", strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	reader := docs.Reader{
		Dir: dir, Home: dir, Update: update, Environment: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir},
		Draw: func(string, [][]docs.Span) error { return nil },
	}
	count, faults, err = reader.Read(t.Context(), page)
	if err != nil {
		t.Fatal(err)
	}
	return page, count, faults, dir
}

// A true page has no faults: a command's effects last for the next one, exit status and colours are
// not part of the output, and the home folder is shown as "~".
func TestReaderAcceptsTruePage(t *testing.T) {
	_, count, faults, dir := read(t, false,
		"```yaml", "# a/web.yaml", "a: b", "```",
		"<!-- run", "cd a; x=1", "-->",
		"```console", "$ cat web.yaml; echo $x", "# a/web.yaml", "a: b", "1",
		"$ printf '\\033[31mred\\033[0m\\n' >&2; false", "red",
		"$ pwd", "~/a", "$ seq 9", "1", "…", "9", "$ true", "```",
		"<!-- not run: because -->", "```sh", "touch made", "```")
	if len(faults) > 0 {
		t.Error(strings.Join(faults, "\n"))
	}
	if count.Commands != 5 || count.Scripts != 1 || count.Files != 1 || len(count.NotRun) != 1 {
		t.Errorf("%+v", count)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "made")); err == nil {
		t.Error("a block that must not be run was run")
	}
}

// A stale output is a fault. Update rewrites it, and nothing else.
func TestReaderReportsStaleOutput(t *testing.T) {
	lines := []string{"```console", "$ echo new", "old", "more", "$ echo same", "same", "```", "text"}
	_, _, faults, _ := read(t, false, lines...)
	if len(faults) != 1 || !strings.Contains(faults[0], "$ echo new") {
		t.Errorf("%q", faults)
	}
	page, _, faults, _ := read(t, true, lines...)
	if want := []string{"```console", "$ echo new", "new", "$ echo same", "same", "```", "text"}; !slices.Equal(page.Lines, want) || len(faults) > 0 {
		t.Errorf("%q, %q", page.Lines, faults)
	}
}

// A failed script is a fault, which Update does not fix.
func TestReaderReportsFailedScript(t *testing.T) {
	for _, update := range []bool{false, true} {
		if _, _, faults, _ := read(t, update, "<!-- run", "echo why >&2; false", "-->"); len(faults) != 1 || !strings.Contains(faults[0], "why") {
			t.Errorf("update %v: %q", update, faults)
		}
	}
}

// Each command of a script counts, also in a function or in a loop.
func TestReaderReportsACommandThatFailsInAScript(t *testing.T) {
	for script, fault := range map[string]string{
		"true\nx=1":                          "",
		"false\ntrue":                        "failed: false",
		"f() { false; }; f\ntrue":            "failed: false",
		"for i in 1 2; do false; done; true": "failed: false",
		"fails false\ntrue":                  "",
		"fails true\ntrue":                   "did not fail: true",
		"false || true; until true; do :; done; if false; then :; fi": "",
	} {
		_, _, faults, _ := read(t, false, "<!-- run", script, "-->")
		if got := strings.Join(faults, " "); (fault == "") != (got == "") || !strings.Contains(got, fault) {
			t.Errorf("%q: %q, want %q", script, got, fault)
		}
	}
}
