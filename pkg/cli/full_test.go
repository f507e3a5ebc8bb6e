package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// full is a writer to a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A verb that sends no requests also reports that its output could not be written. Otherwise a
// pipeline continues with an empty file.
func TestFullOutputDeviceIsReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(file, []byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"",
		"--help",
		"help apply",
		"apply --help",
		"completion --help",
		"version --client",
		"version --client -o json",
		"version --client -o yaml",
		"version --client -o kyaml",
		"completion bash",
		"completion kubectl",
		"apply --dry-run=client -o manifests -f " + file,
	} {
		var message bytes.Buffer
		args := append([]string{"kubectl-k8sconnect"}, strings.Fields(line)...)
		code := Main(t.Context(), args, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: full{}, ErrOut: &message})
		if code != 2 || !strings.Contains(message.String(), syscall.ENOSPC.Error()) {
			t.Errorf("%s: %d, %s", line, code, &message)
		}
	}
}

// It is no error if a reader closes the pipe early, as head does.
func TestHelpIgnoresClosedPipe(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Close() }()
	_ = reader.Close()
	var message bytes.Buffer
	code := Main(t.Context(), []string{"kubectl-k8sconnect", "apply", "--help"}, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: writer, ErrOut: &message})
	if code != 0 || message.Len() > 0 {
		t.Errorf("%d, %s", code, &message)
	}
}
