// Package demo tests the tour of `make demo`.
package demo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The tour needs no network once everything is built, and leaves no process and no
// file behind.
func TestDemoOffline(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "bash", "demo.sh")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "GOPROXY=off", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "everything is torn down") {
		t.Errorf("%v:\n%s", err, out)
	}
	if left := processes(t, dir); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// processes are the command lines that name a folder.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil { // It has ended.
			continue
		}
		if line := strings.ReplaceAll(string(text), "\x00", " "); strings.Contains(line, dir) {
			named = append(named, line)
		}
	}
	return named
}
