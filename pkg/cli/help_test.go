package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/cli/help"
)

// The short help of a command shows the flags that no other command has, and those that replace a
// question. The exceptions are for rare cases.
func TestShortHelpShowsOwnFlags(t *testing.T) {
	rare := map[string][]string{
		"apply": {"await-kinds", "continue-on-conflict", "no-input", "yes"},
		"give": {
			"allow-new", "as-operation", "from-inventory", "from-release", "from-set", "to-inventory", "to-release", "to-set",
		},
		"owners": {"migrate-versions"},
		"wait":   {"existence-timeout"},
	}
	flags, commands := map[string][]string{}, map[string]int{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), "kubectl k8sconnect ")
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && f.Name != "help" && f.Name != "no-descriptions" {
				flags[path] = append(flags[path], f.Name)
				commands[f.Name]++
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(genericiooptions.NewTestIOStreamsDiscard(), nil).Command)
	shown := 0
	for path, names := range flags {
		_, out, _ := call(t, append(strings.Fields(path), "--help")...)
		for _, name := range names {
			own := commands[name] == 1 || name == "yes" || name == "confirm"
			if !own || slices.Contains(rare[path], name) {
				continue
			}
			shown++
			if !regexp.MustCompile(`(?m)^ +(-\w, )?--` + name + `\b`).MatchString(out) {
				t.Errorf("%s --help lacks --%s", path, name)
			}
		}
	}
	if shown < 20 {
		t.Errorf("only %d flags were compared", shown)
	}
}

// No habit of kubectl ends in advice about a different task: rollout is a group of commands, of which
// only undo is a rollback. The replacement for a verb is never a verb of ours that the user could not
// have typed.
func TestForeignVerbsAreAnswered(t *testing.T) {
	noCluster(t)
	for line, want := range map[string]string{
		"rollout status deploy/web":  "kubectl k8sconnect wait TYPE/NAME",
		"rollout history deploy/web": "kubectl k8sconnect history TYPE/NAME",
		"rollout restart deploy/web": "kubectl rollout restart",
		"rollout pause deploy/web":   "kubectl rollout pause",
		"rollout resume deploy/web":  "kubectl rollout resume",
		"rollout undo deploy/web":    "kubectl rollout undo",
		"undo deploy/web":            "kubectl rollout undo",
		"rollback web":               "kubectl k8sconnect sets rollback NAME",
		"rollout":                    "kubectl rollout",
		"blame deploy/web":           "kubectl k8sconnect owners TYPE/NAME",
		"uninstall web":              "kubectl k8sconnect delete",
		"destroy":                    "kubectl k8sconnect delete",
		"events":                     "kubectl events",
		"plan":                       "kubectl k8sconnect diff -f FILE",
		"get pods":                   "kubectl get",
	} {
		code, out, stderr := call(t, strings.Fields(line)...)
		hint := regexp.MustCompile(`(?m)^  hint: (.*)$`).FindStringSubmatch(stderr)
		if code != 2 || out != "" || hint == nil || !strings.HasPrefix(hint[1], want) {
			t.Errorf("%s: exit status %d, the hint should begin with %q:\n%s%s", line, code, want, out, stderr)
		}
	}
	// A verb of ours needs no replacement.
	for _, cmd := range newRoot(genericiooptions.NewTestIOStreamsDiscard(), nil).Commands() {
		if hint := help.ForeignVerb(cmd.Name()); hint != "" {
			t.Errorf("%s is a verb of ours, and has a hint: %s", cmd.Name(), hint)
		}
	}
}
