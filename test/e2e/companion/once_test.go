package companion_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
)

// With the webhook installed, the plugin reports each deprecation and each takeover once for each
// object: in its own report, or with the first warning's words.
func TestPluginReportsEachWarningOnce(t *testing.T) {
	c := newClient(t, "")
	c.birds(t, "once")
	names := []string{"one", "two", "three"}
	set := func(colour string) string {
		var text strings.Builder
		for _, name := range names {
			text.WriteString("---\napiVersion: example.com/v1beta1\nkind: Bird\nmetadata: {name: " + name + ", namespace: once}\nspec: {colour: " + colour + "}\n")
			text.WriteString("---\napiVersion: v1\nkind: Endpoints\nmetadata: {name: " + name + ", namespace: once, annotations: {colour: " + colour + "}}\n")
		}
		return text.String()
	}
	apply := func(manager, colour string) (out, stderr string) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "set.yaml")
		if err := os.WriteFile(path, []byte(set(colour)), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, errors bytes.Buffer
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &errors}
		code := cli.Main(t.Context(), []string{
			"kubectl-k8sconnect", "apply", "-f", path, "--take=all", "--field-manager", manager,
			"--kubeconfig", c.KubeconfigPath, "--cache-dir", t.TempDir(),
		}, streams)
		if code != 0 {
			t.Fatalf("exit status %d: %s%s", code, &stdout, &errors)
		}
		return stdout.String(), errors.String()
	}
	apply("argo", "blue")
	out, stderr := apply("flux", "red")
	for _, kind := range []string{"bird.example.com", "endpoints"} {
		for _, name := range names {
			object := kind + "/" + name + " -n once"
			warned := 0
			for line := range strings.Lines(stderr) {
				if strings.Contains(line, object) {
					warned++
				}
			}
			if warned != 1 {
				t.Errorf("%s: %d lines on stderr, want its deprecation: %s", object, warned, stderr)
			}
		}
	}
	if n := strings.Count(out, "\n    taken "); n != 2*len(names) || strings.Contains(stderr, "taken") {
		t.Errorf("%d takeovers are reported, want %d and none on stderr: %s%s", n, 2*len(names), out, stderr)
	}
}
