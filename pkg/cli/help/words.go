package help

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wordsOf is the annotation of a flag with the words that it knows.
const wordsOf = "words"

// Complete completes the value of a flag of the command's own, if it has it.
func Complete(cmd *cobra.Command, flag string, with cobra.CompletionFunc) {
	if own(cmd, flag) != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag, with) // It fails only for a second registration.
	}
}

// own returns a flag of the command itself, and nil for one of the commands above it. Cobra's
// LocalFlags knows that too, and makes all sets anew at each call.
func own(cmd *cobra.Command, flag string) *pflag.Flag {
	f := cmd.Flags().Lookup(flag)
	if f == nil {
		f = cmd.PersistentFlags().Lookup(flag)
	}
	for above := cmd.Parent(); f != nil && above != nil; above = above.Parent() {
		if above.PersistentFlags().Lookup(flag) == f {
			return nil // Cobra has merged them.
		}
	}
	return f
}

// Words completes the value of a flag to one of some words, which [NearWord] knows too;
// without words it completes to nothing, because a file's name would be wrong.
func Words(cmd *cobra.Command, flag string, values ...string) {
	if f := own(cmd, flag); f != nil && len(values) > 0 {
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[wordsOf] = values
	}
	Complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
