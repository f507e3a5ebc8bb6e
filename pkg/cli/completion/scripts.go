package completion

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed bash.sh
var bash string

//go:embed zsh.sh
var zsh string

//go:embed fish.fish
var fish string

// ownScript replaces Cobra's script for bash, zsh or fish. Cobra's scripts cannot complete a path with a key
// in brackets: in bash, they insert its quotes unescaped, and all take an equals sign in a value for the one
// after the flag (spf13/cobra#2126). The one for fish also runs what is in parentheses (spf13/cobra#2096).
func ownScript(cmd *cobra.Command) {
	script, file, load := "", "~/."+cmd.Name()+"rc", ""
	switch cmd.Name() {
	case "bash":
		script, load = bash, "source <(kubectl completion bash)\nsource <(kubectl k8sconnect completion bash)"
	case "zsh":
		script, load = zsh, "autoload -U compinit; compinit\nsource <(kubectl completion zsh)\nsource <(kubectl k8sconnect completion zsh)"
	case "fish":
		script, file = fish, "~/.config/fish/completions/kubectl.fish"
		load = "kubectl completion fish | source\nkubectl k8sconnect completion fish | source"
	default:
		return
	}
	cmd.Long = fmt.Sprintf(`Generate the completion script for %[1]s. It completes kubectl-k8sconnect and
"kubectl k8sconnect", and leaves the rest of kubectl to kubectl's own script.

Load both scripts in %[2]s, in this order:

%[3]s`, cmd.Name(), file, "  "+strings.ReplaceAll(load, "\n", "\n  "))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		text := script
		if plain, _ := cmd.Flags().GetBool("no-descriptions"); plain {
			text = strings.ReplaceAll(text, cobra.ShellCompRequestCmd+" ", cobra.ShellCompNoDescRequestCmd+" ")
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), text)
		return err
	}
}
