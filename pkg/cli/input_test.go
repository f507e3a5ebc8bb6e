package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// A file name cannot control the terminal.
func TestSkippedFileNamesAreEscaped(t *testing.T) {
	noCluster(t)
	if err := os.Mkdir("set", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"set/\x1b[31mred.yaml": "a: b\n",
		"set/ok.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, _, stderr := call(t, "apply", "-f", "set", "--skip-non-objects")
	if !strings.Contains(stderr, "skipped set/") || strings.Contains(stderr, "\x1b") {
		t.Errorf("stderr %q", stderr)
	}
}

// An unusable address is reported as a fault of the kubeconfig.
func TestServerAddress(t *testing.T) {
	for server, bad := range map[string]bool{
		"htps://127.0.0.1:1": true, "https://[::1": true, "ftp://example.com": true,
		"https://127.0.0.1:1": false, "127.0.0.1:1": false,
	} {
		t.Run(server, func(t *testing.T) {
			noCluster(t)
			code, _, stderr := call(t, "version", "--server", server, "--server-timeout=0")
			says := strings.Contains(stderr, "is not an https URL") && strings.Contains(stderr, "hint: ")
			if code != verb.ExitUnknown || says != bad {
				t.Errorf("exit status %d, stderr %q", code, stderr)
			}
		})
	}
}
