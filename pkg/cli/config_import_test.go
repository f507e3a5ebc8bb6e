package cli

import (
	"strings"
	"testing"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/verb"
)

// Stdout has only the rules, and the exit status shows whether everything became one. No server is
// needed.
func TestConfigImport(t *testing.T) {
	noCluster(t)
	write(t, "plain.yaml", "kind: Application\nspec: {ignoreDifferences: [{kind: Secret, jsonPointers: [/data]}]}\n")
	write(t, "odd.yaml", "kind: Application\nspec:\n  ignoreDifferences:\n  - kind: Secret\n    jqPathExpressions: [.data | keys, .type]\n")
	write(t, "none.yaml", "kind: Application\n")
	write(t, "other.yaml", "kind: ConfigMap\n")
	for name, tt := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"every field becomes a rule":    {[]string{"--argocd=plain.yaml"}, verb.ExitYes, "yield:\n  # plain.yaml:2\n  - {kind: Secret, path: .data}\n", ""},
		"only some fields become rules": {[]string{"--argocd=odd.yaml"}, verb.ExitNo, "yield:\n  # odd.yaml:4\n  - {kind: Secret, path: .type}\n", "no rule for odd.yaml:5: .data | keys: not a plain path"},
		"nothing":                       {[]string{"--argocd=none.yaml"}, verb.ExitYes, "", "the file lists no ignored fields"},
		"another":                       {[]string{"--argocd=other.yaml"}, verb.ExitUnknown, "", "other.yaml: contains no Application or ApplicationSet"},
		"no file":                       {[]string{"--argocd=gone.yaml"}, verb.ExitUnknown, "", "gone.yaml"},
		"no flag":                       {nil, verb.ExitUnknown, "", "name a file with --argocd=FILE"},
		"an argument":                   {[]string{"plain.yaml"}, verb.ExitUnknown, "", "unexpected argument"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := call(t, append([]string{"config", "import"}, tt.args...)...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("status %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
	if code, _, stderr := call(t, "config", "export"); code != verb.ExitUnknown || !strings.Contains(stderr, "unknown command") {
		t.Errorf("status %d, stderr %q", code, stderr)
	}
}
