package cli

import (
	"io"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/test/terminal"
)

// In a terminal, a field that cannot become a rule is reported in lines that fit; otherwise on one
// line.
func TestConfigImportFitsTheTerminal(t *testing.T) {
	noCluster(t)
	write(t, "apps.yaml", "kind: Application\nspec:\n  ignoreDifferences:\n  - group: admissionregistration.k8s.io\n    kind: ValidatingWebhookConfiguration\n    jqPathExpressions: ['.webhooks[] | select(.name == \"a\") | .clientConfig.caBundle']\n  - group: '*'\n    kind: '*'\n    managedFieldsManagers: [kube-controller-manager]\n    jqPathExpressions: [.data | keys | .[] | select(. == \"a\") | tostring | ascii_downcase]\n")
	args := []string{"/usr/local/bin/kubectl-k8sconnect", "config", "import", "--argocd=apps.yaml"}
	_, _, whole := call(t, args[1:]...)
	screen, tty, err := terminal.Open(60)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	Main(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: tty})
	if _, err := tty.WriteString("\nend of it\n"); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for piece := make([]byte, 1<<12); !strings.Contains(shown.String(), "end of it"); {
		n, err := screen.Read(piece)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(piece[:n])
	}
	_ = tty.Close()
	text, _, _ := strings.Cut(shown.String(), "\r\n\r\nend of it")
	long := false
	for line := range strings.Lines(whole) {
		long = long || len(line) > 60
	}
	if !long {
		t.Errorf("the test input gives no line over 60 columns:\n%s", whole)
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); len(line) > 60 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if strings.Join(strings.Fields(text), " ") != strings.Join(strings.Fields(whole), " ") {
		t.Errorf("%s\ninstead of\n%s", text, whole)
	}
}
