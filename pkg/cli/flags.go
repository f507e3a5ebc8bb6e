package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/k8sconnect/kubectl-k8sconnect/pkg/object"
)

// wordsOf is the annotation of a flag with the words that it knows.
const wordsOf = "words"

// complete completes the value of a flag of the command's own, if it has it.
func complete(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if cmd.LocalFlags().Lookup(flag) == nil || cmd.InheritedFlags().Lookup(flag) != nil {
		return
	}
	// It only fails for a flag that there is not, or for a second time.
	_ = cmd.RegisterFlagCompletionFunc(flag, with)
}

// words completes the value of a flag to one of some words; without words, to
// nothing, for a file's name would be wrong.
func words(cmd *cobra.Command, flag string, values ...string) {
	if f := cmd.Flag(flag); f != nil && len(values) > 0 {
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[wordsOf] = values
	}
	complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// noArgs refuses what stands between the flags: most often a file without -f.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if f := cmd.Flags().Lookup("dry-run"); f != nil && strings.HasPrefix(f.Value.String(), "-") {
		return errNoDryRun
	}
	if cmd.Flags().Lookup("filename") == nil {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return fmt.Errorf("unexpected argument %q: manifests are named with -f or -k", args[0])
}

// errNoDryRun: the flag was given without its value.
var errNoDryRun error = &object.HintedError{
	Err:    errors.New("--dry-run needs a value"),
	Advice: "--dry-run=server asks the server what would happen, --dry-run=client only compares",
}

func dryRunOf(text string) (object.DryRun, error) {
	switch text {
	case "none":
		return object.DryRunNone, nil
	case "server":
		return object.DryRunServer, nil
	case "client":
		return object.DryRunClient, nil
	default:
		if strings.HasPrefix(text, "-") { // It took the next flag for its value.
			return "", errNoDryRun
		}
		return "", fmt.Errorf("--dry-run must be none, server or client, not %q", text)
	}
}
