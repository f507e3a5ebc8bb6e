//go:build unix

package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/manifest"
)

// A pipe or folder with the name of the file is an error at once. If it were ignored, a run would
// take the fields that the rules yield; if a pipe were read, it would block the run. A link to a
// file works like the file.
func TestUnfitFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"folder/k8sconnect.yaml", "pipe", "nowhere", "loop", "link", "device", "large"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(strings.TrimSuffix(folder, "/k8sconnect.yaml"), "a.yaml"), []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(folder string) string { return filepath.Join(folder, "k8sconnect.yaml") }
	ok(syscall.Mkfifo(at("pipe"), 0o600))
	ok(os.Symlink("gone.yaml", at("nowhere")))
	ok(os.Symlink("k8sconnect.yaml", at("loop")))
	ok(os.WriteFile("rules.yaml", []byte("yield: [{manager: a}]"), 0o600))
	ok(os.Symlink("../rules.yaml", at("link")))
	ok(os.Symlink(os.DevNull, at("device")))
	ok(os.WriteFile(at("large"), bytes.Repeat([]byte("#"), longest+1), 0o600))
	for folder, want := range map[string]string{
		"folder": "folder/k8sconnect.yaml: it is a folder", "pipe": "pipe/k8sconnect.yaml: it is a pipe",
		"nowhere": "nowhere/k8sconnect.yaml: it is a link to something that does not exist", "loop": "loop/k8sconnect.yaml",
		"device": "device/k8sconnect.yaml: it is a pipe, a socket or a device", "large": "large/k8sconnect.yaml: it has more than 1048576 bytes",
	} {
		got, err := find([]string{folder}, "")
		if got != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", folder, got, err)
		}
		// If the hint suggests --config= (no file of rules), the folder must be readable without
		// the file.
		var fault *Error
		if !errors.As(err, &fault) || !strings.Contains(fault.Hint(), "--config=") {
			continue
		}
		if _, err := manifest.Read(t.Context(), manifest.Options{Filenames: []string{folder}}); err != nil {
			t.Errorf("%s, without a file of rules: %v", folder, err)
		}
	}
	if got, err := find([]string{"link"}, ""); got != at("link") || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
