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

// ownScript replaces Cobra's script for bash or zsh. Cobra's scripts cannot complete a path with a key in
// brackets: in bash, they insert its quotes unescaped, and both take an equals sign in a value for the one
// after the flag (spf13/cobra#2126).
func ownScript(cmd *cobra.Command) {
	script, load := "", ""
	switch cmd.Name() {
	case "bash":
		script, load = bash, "source <(kubectl completion bash)\nsource <(kubectl k8sconnect completion bash)"
	case "zsh":
		script, load = zsh, "autoload -U compinit; compinit\nsource <(kubectl completion zsh)\nsource <(kubectl k8sconnect completion zsh)"
	default:
		return
	}
	cmd.Long = fmt.Sprintf(`Generate the completion script for %[1]s. It completes kubectl-k8sconnect and
"kubectl k8sconnect", and leaves the rest of kubectl to kubectl's own script.

Load both scripts in ~/.%[1]src, in this order:

%s`, cmd.Name(), "  "+strings.ReplaceAll(load, "\n", "\n  "))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		text := script
		if plain, _ := cmd.Flags().GetBool("no-descriptions"); plain {
			text = strings.ReplaceAll(text, cobra.ShellCompRequestCmd+" ", cobra.ShellCompNoDescRequestCmd+" ")
		}
		_, err := fmt.Fprint(cmd.OutOrStdout(), text)
		return err
	}
}
