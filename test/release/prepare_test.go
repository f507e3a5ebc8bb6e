package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A release has the date of its preparation and its version everywhere, and a version without a section in
// the change log is refused.
func TestPrepare(t *testing.T) {
	t.Parallel()
	files := []string{"CHANGELOG.md", "charts/k8sconnect/Chart.yaml", "test/release/prepare.sh"}
	for version, want := range map[string]string{
		"v9.8.7": "", "v9.8.7-rc.1": "",
		"v9.8.6": "has no section", "9.8.7": "is no version", "": "is no version",
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			for _, name := range files {
				text, err := os.ReadFile(filepath.Join("..", "..", name))
				if err != nil {
					t.Fatal(err)
				}
				if name == "CHANGELOG.md" {
					text = []byte("# Changelog\n\n## [9.8.7] - unreleased\n\n## [9.8.7-rc.1] - unreleased\n\n" + string(text))
				}
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "test/release/prepare.sh"), version).CombinedOutput()
			if want != "" {
				if err == nil || !strings.Contains(string(out), want) {
					t.Errorf("%v, output %q, want %q", err, out, want)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if err := checkNamed(root, version); err != nil {
				t.Error(err)
			}
			chart, _ := os.ReadFile(filepath.Join(root, files[1]))
			prerelease := `prerelease: "false"`
			if strings.Contains(version, "-") {
				prerelease = `prerelease: "true"`
			}
			for _, text := range []string{"/webhook:" + version[1:] + "\n", prerelease} {
				if !strings.Contains(string(chart), text) {
					t.Errorf("the chart has no %q", text)
				}
			}
			log, _ := os.ReadFile(filepath.Join(root, files[0]))
			if line := "## [" + version[1:] + "] - " + time.Now().UTC().Format(time.DateOnly); !strings.Contains(string(log), line) {
				t.Errorf("the change log has no %q", line)
			}
		})
	}
}
