package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli"
)

// indifferent lists flags of kubectl that affect neither the cluster nor the user of a command.
var indifferent = []string{"namespace", "request-timeout", "disable-compression", "cache-dir"}

// Edge case 92: printed commands repeat every flag of kubectl that chooses the cluster or the user,
// as it was typed. For a token, they repeat the flag without its value.
func TestPrintedCommandsKeepTheConnection(t *testing.T) {
	flags := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(flags)
	// No server listens on this port, so the error has a hint with a command.
	kubeconfig := filepath.Join(t.TempDir(), "one of 'these'")
	err := os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"+
		"users: [{name: u, user: {}}]\ncontexts: [{name: x y, context: {cluster: c, user: u}}]\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"server": "https://127.0.0.1:1", "kubeconfig": kubeconfig, "context": "x y", "cluster": "c", "user": "u",
		"insecure-skip-tls-verify": "true", "proxy-url": "http://127.0.0.1:1", "as": "jane doe", "cache-dir": t.TempDir(),
		"as-user-extra": "scopes=a", "disable-compression": "true",
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains([]string{"certificate-authority", "client-certificate", "client-key"}, f.Name) {
			return // They name files that have to be there, and be in order.
		}
		value := values[f.Name]
		if value == "" {
			value = "some-value"
		}
		args := []string{"kubectl-k8sconnect", "version", "--server=https://127.0.0.1:1", "--server-timeout=0", "--" + f.Name + "=" + value}
		if slices.Contains([]string{"context", "cluster", "user"}, f.Name) {
			args = append(args, "--kubeconfig="+kubeconfig)
		}
		if strings.HasPrefix(f.Name, "as-") {
			args = append(args, "--as=x")
		}
		if f.Name == "request-timeout" {
			args[4] = "--request-timeout=1s"
		}
		printed := commandOf(t, args)
		kept := slices.Contains(printed, "--"+f.Name+"="+value)
		switch {
		case f.Name == "token":
			if !slices.Contains(printed, "--token=…") || strings.Contains(strings.Join(printed, " "), value) {
				t.Errorf("--token: %q", printed)
			}
		case kept == slices.Contains(indifferent, f.Name):
			t.Errorf("--%s: kept %v: %q", f.Name, kept, printed)
		}
	})
	if printed := commandOf(t, []string{"kubectl-k8sconnect", "version", "--server=https://127.0.0.1:1", "--server-timeout=0", "--as=x", "--as-group=a", "--as-group=b"}); !slices.Contains(printed, "--as-group=a") || !slices.Contains(printed, "--as-group=b") {
		t.Errorf("two groups: %q", printed)
	}
}

// commandOf splits the command in the hint into words as a shell does.
func commandOf(t *testing.T, args []string) []string {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out bytes.Buffer
	cli.Main(t.Context(), args, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &out})
	match := regexp.MustCompile(`\((kubectl cluster-info.*)\);`).FindStringSubmatch(out.String())
	if match == nil {
		t.Fatalf("%q: no command in %s", args, out.String())
	}
	words, err := shellwords.Parse(match[1])
	if err != nil {
		t.Fatal(err)
	}
	return words
}
