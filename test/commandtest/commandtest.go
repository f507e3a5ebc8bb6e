// Package commandtest checks that printed commands can be pasted, and act on the cluster of the
// run.
package commandtest

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/pflag"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/command"
)

// Plain returns a text as it is printed without connection flags.
func Plain(text string) string { return command.Fill(text, command.Flags{}) }

// Check fails the test unless every kubectl command in a text has the connection flags right after
// its verb. It parses the command like a shell and like kubectl, without code of package command
// (edge case 92).
func Check(t testing.TB, text string) {
	t.Helper()
	typed := command.Flags{
		Cluster: []string{"--kubeconfig=/home/o'neil/kube config", "--context=prod $(west)", "--token=…"},
		As:      []string{"--as=jane", "--as-group=a", "--as-group=b"},
	}
	filled := command.Fill(text, typed)
	if Plain(text) != strings.Join(strings.Fields(Plain(text)), " ") && !strings.Contains(text, "'") {
		t.Errorf("blanks: %q", Plain(text))
	}
	for pipe := range strings.SplitSeq(filled, " | ") {
		at := strings.Index(pipe, "kubectl ")
		if at < 0 {
			continue
		}
		words, err := shellwords.Parse(strings.ReplaceAll(strings.ReplaceAll(pipe[at:], "$(date", "(date"), "(date", "date"))
		if err != nil {
			t.Errorf("%q is not a valid shell command: %v", pipe, err)
			continue
		}
		checkWords(t, filled, words)
	}
}

func checkWords(t testing.TB, text string, words []string) {
	t.Helper()
	verb := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") })
	if verb < 2 || verb > 3 {
		t.Errorf("no flags right after the verb: %q", text)
		return
	}
	flags := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	kubeconfig, context := flags.String("kubeconfig", "", ""), flags.String("context", "", "")
	token, as := flags.String("token", "", ""), flags.String("as", "", "")
	groups := flags.StringArray("as-group", nil, "")
	if err := flags.Parse(words[1:]); err != nil {
		t.Errorf("%q: %v", text, err)
		return
	}
	if *kubeconfig != "/home/o'neil/kube config" || *context != "prod $(west)" || *token != "…" {
		t.Errorf("acts on another cluster: %q", text)
	}
	own := *as != "jane" && *as != "" // The command says itself whom to act as.
	if wanted := []string{"a", "b"}; own == slices.Equal(*groups, wanted) {
		t.Errorf("acts as user %s in groups %v: %q", *as, *groups, text)
	}
}
